// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot takes and removes the snapshots that VirtualMachineSnapshots
// stand for.
//
// Guarantees:
//
//  1. Of one virtual machine one snapshot is taken at a time, the oldest object first. One that
//     vSphere would refuse lets the others go first.
//  2. Status names the revisions that a snapshot needs before the snapshot is begun, and as long
//     as the object is there.
//  3. A snapshot is Ready when vSphere has it with the record of the object, and the virtual
//     machine itself has that record no more. One that vSphere does not show any more is not
//     Ready, and is not taken again.
//  4. An object that is deleted goes when vSphere has none of it, whatever its owner
//     references are; those that follow it stay. With its virtual machine it goes at once.
//  5. All that is done for a snapshot is done under the Lease of the vCenter of its virtual
//     machine, and no worker waits for vSphere.
package snapshot
