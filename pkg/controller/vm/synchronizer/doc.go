// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package synchronizer brings a VirtualMachine in line with what it refers to
// before anything is done in vSphere: references to instance type and
// preference are captured, the class is looked up, and what every virtual
// machine has (a network interface, a BIOS UUID) is completed.
//
// Guarantees:
//
//  1. A synchronizer changes a copy and returns it; persisting is the caller's.
//     It returns the virtual machine itself when there is nothing to change.
//     It reports conditions and does not write them.
//  2. No client that could write a VirtualMachine is reachable from this
//     package; a test holds that. Revisions are created through RevisionStore,
//     because status may only name what exists. They are never deleted here.
//  3. Every synchronizer of a Chain runs, also after another one failed, and
//     the failures are returned together.
//  4. The instance type synchronizer writes spec only under a policy that
//     expands references.
package synchronizer
