// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=instancetype.slipway.dev

// Package instancetype holds the internal form of the instancetype.slipway.dev API group:
// instance types and preferences.
//
// Guarantees:
//   - It has no serialised form: every version converts from and to it.
//   - Its types have the memory layout of the newest version, so that this
//     conversion costs next to nothing.
//   - Only strategies, storages and validation use it; clients and controllers
//     use the versions.
package instancetype
