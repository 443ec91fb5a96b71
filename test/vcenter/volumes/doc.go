// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumes is the volume service (CNS) of the simulated vCenter, around that of
// govmomi, which keeps books and attaches nothing.
//
// What it adds is said with its source at each rule:
//   - A volume that is attached is a disk of the virtual machine, with the identifier of
//     the first class disk, at the place that was asked for where the version of vCenter
//     takes one.
//   - A volume that a virtual machine has is refused to another one, before vCenter 9.1.
//     Since then it is attached, and the lock of its file decides at power-on.
//   - A volume that is extended is larger in the virtual machine too.
//   - Results carry faults of single volumes in tasks that succeed, and more faults on
//     order.
//
// A disk that was taken off a virtual machine by a reconfiguration counts as attached
// until the service is asked to detach it: that vCenter notices is nowhere promised.
package volumes
