// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot takes and removes the vSphere snapshots of VirtualMachineSnapshots.
//
// Guarantees:
//
//  1. The snapshots of one VM are taken one at a time, the oldest object first. A snapshot that vSphere would refuse does
//     not delay the others.
//  2. Status has the names of the revisions that a snapshot needs before the snapshot is started, and as long as the object
//     exists.
//  3. A snapshot is Ready when vSphere has it with the persisted object record, and the record is removed from the VM. A
//     snapshot that vSphere no longer has is not Ready, and is not taken again.
//  4. A deleted object keeps its finalizer until vSphere no longer has the snapshot, whatever its owner references are. Child
//     snapshots are not removed. If the VM is deleted, the finalizer is removed immediately.
//  5. All work for a snapshot is done under the Lease of the vCenter of its VM. No worker waits for vSphere.
package snapshot
