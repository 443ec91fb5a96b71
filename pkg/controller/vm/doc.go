// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vm reconciles VirtualMachines. It decides what each of them needs, calls the provider and writes the
// observed state.
//
// The package guarantees:
//
//  1. Workers never wait for vSphere, unless Deps.Blocking is set. The end of an operation causes an event.
//  2. A reconcile writes the virtual machine at most twice: once its metadata and spec, and once its status.
//     If nothing changed, it writes nothing. A reconcile of a stable virtual machine calls no API server.
//     Each intermediate state that it observes is written immediately.
//  3. A reconcile never decides on a state that an earlier reconcile of this process has already changed, even if
//     the caches are outdated.
//  4. Neither a missing referenced object nor a failing synchronizer prevents a virtual machine from being powered
//     off or deleted.
//  5. The instance exists while vSphere reports the virtual machine as powered on or suspended. The instance's spec
//     is the spec that the VM runs with. The status shows the VM's size, and the desired size if it differs.
//  6. A revision is deleted only after a status that does not refer to it was written.
//  7. The priority of a reconcile depends only on the virtual machine's state and the kind of event: Priority is a
//     pure function.
//  8. Events are recorded for changes only, and only after the changes were written.
//  9. A reconcile does not depend on the watch event of its own write: it schedules the next reconcile itself, and
//     the watch event of a status write causes none.
//  10. Tools that follow the kstatus convention get correct results. A virtual machine is Current only if it matches
//     its spec's generation, Failed if a user must change an object, and otherwise InProgress.
//
// The steps of a reconcile are packages below this one. Package step has the types that they share.
package vm
