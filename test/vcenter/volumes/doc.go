// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumes extends govmomi's volume service (CNS) for the simulated vCenter. govmomi's service only stores
// records and attaches nothing.
//
// Each rule in the code names its source. Additions:
//   - An attached volume is a disk of the virtual machine, with the identifier of the first class disk. It has the
//     requested controller slot if the version of vCenter supports it.
//   - Before vCenter 9.1, attaching a volume that another virtual machine has is refused. From 9.1 it is attached,
//     and the lock of its file decides at power-on.
//   - Extending a volume also extends the disk of the virtual machine.
//   - A successful task can contain faults of single volumes. Tests can request more faults.
//
// A disk that a reconfiguration removed from a virtual machine counts as attached until the service is asked to
// detach it. vCenter documents no other behaviour.
package volumes
