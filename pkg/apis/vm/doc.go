// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=vm.slipway.dev

// Package vm holds the internal form of the vm.slipway.dev API group:
// virtual machines, their instances, classes and images.
//
// Guarantees:
//   - It has no serialised form: every version converts from and to it.
//   - Its types have the memory layout of the newest version, so that this
//     conversion costs next to nothing.
//   - Only strategies, storages and validation use it; clients and controllers
//     use the versions.
package vm
