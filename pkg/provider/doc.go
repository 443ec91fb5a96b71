// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is the boundary between the controllers and a hypervisor,
// in the words of the API and without any type of the hypervisor's library.
//
// Guarantees that every implementation gives, checked by the conformance suite:
//
//  1. The identity of a virtual machine is the instance UUID, which is
//     spec.instanceUUID or else the UID of the object. A repeated create finds
//     the virtual machine that an earlier one made; it never makes a second.
//  2. At most one operation runs per virtual machine. A call that meets one
//     returns ErrReconcileInProgress and changes nothing but status.
//  3. The number of creates that run at once is bounded. A call beyond it
//     returns ErrTooManyCreates before anything is asked of the hypervisor, and
//     a hint arrives when a slot is free for that virtual machine.
//  4. A state that could not be read is unknown, not absent, and nothing is
//     planned. A new virtual machine is created after the first complete reading.
//  5. CreateOrUpdateVirtualMachineAsync and DeleteVirtualMachine never wait for
//     an operation. Its end is followed by a hint.
//  6. A call over a virtual machine that is as desired starts nothing and, once
//     the virtual machine was observed, asks nothing of the hypervisor.
//  7. Deleting what is not there succeeds.
//  8. A virtual machine of another object is neither changed nor deleted, and
//     nothing of it is told. One that no object has is taken over by an object
//     that names its instance UUID, and is never deleted before.
package provider
