// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package strict validates calls before the simulator's operations on virtual machines, which trust their input and
// end the process if a reference is invalid.
//
// Guarantees:
//   - A reference to an object that does not exist, or is of the wrong kind, is answered with a fault before it
//     reaches the simulator.
//   - A name is unique in its folder and an instance UUID in the inventory, even if creations race. A name in use is
//     refused, and an instance UUID in use is replaced. Registering an unregistered virtual machine restores it with
//     a new reference.
//   - An operation that the state of its virtual machine does not allow fails: without a readable configuration, with
//     a pending question, during another operation, with the method disabled, or with a disk that another virtual
//     machine writes.
//   - A long task can be cancelled and waits until its host has a free slot.
//   - A call needs the privileges that the API documents.
//   - Destroy deletes every attached disk, except first class disks that are kept.
//   - A reconfiguration is applied completely or not at all. It obeys the hot-add flags of a powered-on virtual
//     machine and refuses values that vSphere refuses. Network cards can be added and moved to another network. Their
//     address and model cannot change, and SR-IOV cards cannot be hot-added. Keys of removed cards are reused.
//   - A clone keeps firmware, extra configuration, hot-add flags, annotation and boot options, as in vSphere. Network
//     cards get new MAC addresses.
//   - Soft power operations need running VMware Tools.
//
// The gate is one object of the registry. Calls are redirected to it by rewriting their target, so the simulator's
// own objects are not changed.
package strict
