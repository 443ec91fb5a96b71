// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package strict puts a gate before the simulator's operations on virtual
// machines, which trust their input and end the process on a bad reference.
//
// Guarantees:
//   - A reference to an object that does not exist, or is of the wrong kind, is
//     answered with a fault before the simulator sees it.
//   - A name exists once per folder and an instance UUID once per inventory,
//     also when creations race: a name in use is refused, an instance UUID in use is
//     replaced. A virtual machine that is registered is the one that was unregistered,
//     under another reference.
//   - An operation that the state of its virtual machine does not allow fails: without
//     a readable configuration, with a question pending, while another one runs, with a
//     method disabled, or with a disk that another one writes.
//   - A long task can be cancelled and waits for its turn on its host.
//   - A call needs the privileges that the API says.
//   - Destroy takes every attached disk along, but for first class disks that are kept.
//   - A reconfiguration is applied as a whole or not at all, obeys the hot-add
//     flags of a powered-on virtual machine, and refuses values that vSphere
//     refuses. Network cards are plugged and moved to another network, but neither another
//     address nor another model, and none with SR-IOV; keys of cards are used again.
//   - A clone keeps what vSphere keeps: firmware, extra configuration, hot-add
//     flags, annotation, boot options; network cards get new MAC addresses.
//   - Soft power operations need running VMware Tools.
//
// The gate is one object of the registry: calls are sent to it by rewriting
// their target, so that the simulator's own objects stay what they are.
package strict
