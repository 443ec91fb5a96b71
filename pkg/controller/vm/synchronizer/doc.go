// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package synchronizer updates a VirtualMachine from the objects that it refers to, before anything is done in vSphere.
// It pins the revisions of the instance type and the preference, reads the class, and adds the defaults that every
// virtual machine has: a network interface and a BIOS UUID.
//
// The package guarantees:
//
//  1. A synchronizer changes a copy and returns it. The caller writes it. If nothing changes, the virtual machine
//     itself is returned. Synchronizers report conditions and do not write them.
//  2. This package cannot reach a client that writes VirtualMachines; a test checks that. Revisions are created
//     through RevisionStore, because the status must only refer to existing revisions. They are never deleted here.
//  3. All synchronizers of a Chain run, even after one of them failed. Their errors are joined.
//  4. The instance type synchronizer changes the spec only if the policy expands references.
package synchronizer
