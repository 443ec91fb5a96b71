// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider defines the interface between the controllers and a hypervisor. It uses the types of the API and no
// types of the hypervisor's library.
//
// Every implementation guarantees the following. The conformance suite checks it.
//
//  1. The identity of a virtual machine is its instance UUID: spec.instanceUUID, or the UID of the object. A repeated
//     create finds the existing virtual machine and never creates a second one.
//  2. At most one operation runs per virtual machine. A call during an operation returns ErrReconcileInProgress and
//     changes only the status.
//  3. The number of concurrent creates is limited. A call above the limit returns ErrTooManyCreates without a request
//     to the hypervisor. An event follows when a slot is free for that virtual machine.
//  4. A state that could not be read is unknown, not absent, and nothing is planned. A new virtual machine is created
//     only after the first complete read.
//  5. CreateOrUpdateVirtualMachineAsync and DeleteVirtualMachine never wait for an operation. An event follows when it
//     ends.
//  6. A call for a virtual machine that matches its desired state starts nothing. After the virtual machine was
//     observed, it sends no requests to the hypervisor.
//  7. Deleting a virtual machine that does not exist succeeds.
//  8. A virtual machine that belongs to another object is not changed, not deleted and not described. A virtual
//     machine without an object is adopted by an object with its instance UUID in spec.instanceUUID, and is not deleted
//     before that.
package provider
