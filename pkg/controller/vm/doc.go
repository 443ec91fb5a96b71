// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vm reconciles VirtualMachines: it decides what each one
// needs, hands it to the provider and writes back what was observed.
//
// What it guarantees:
//
//  1. Workers never wait for the hypervisor, unless Deps.Blocking asks for it.
//     The end of an operation comes back as a hint.
//  2. A pass writes the virtual machine at most twice, once its metadata and spec
//     and once its status, and not at all when nothing changed. A pass over a
//     stable virtual machine makes no call of any API server. Only that a virtual
//     machine is created and about to be powered on may wait two seconds for what
//     comes next, and is then not written by itself.
//  3. A pass never decides on a state that an earlier pass of this process has
//     already changed, however far the caches are behind.
//  4. Nothing that a virtual machine refers to, and no failing synchronizer, can
//     keep it from being powered off or deleted.
//  5. The instance exists while vSphere reports the virtual machine as powered on
//     or suspended, and its spec is what that one runs with.
//     Status shows its size, and beside it the one that is wanted when that is another.
//  6. A revision is deleted only after a status that does not name it was written.
//  7. The priority of a request follows from the state of the virtual machine and
//     the kind of event alone: Priority is a pure function.
//  8. Events are reported for changes only, and only after they were written.
//  9. No pass waits for the update that its own write makes: a pass says itself
//     when the next one is due, and the echo of a status write makes none.
//  10. Tools that follow the kstatus convention are told right: a virtual machine is
//     Current only when it is as the generation of its spec wants it, Failed when
//     somebody has to change an object, and else InProgress.
//
// The steps of a reconcile are packages below this one; package step has what they share.
package vm
