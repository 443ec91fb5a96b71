// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines tests the life of Machines whose infrastructure is our VirtualMachine: the
// product among a real kube-apiserver, the simulated vCenter and a real workload cluster.
package machines
