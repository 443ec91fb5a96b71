// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine reconciles virtual machines through a driver. The engine keeps state, decides and starts operations;
// the driver observes and executes.
//
// In addition to the guarantees of package provider, the engine guarantees:
//
//  1. Each object has one in-memory state, which is protected by a lock, and at most one operation. A reconcile reads
//     this state before it observes the virtual machine, and plans only if no operation runs. So a plan is never based
//     on an observation from before the end of an operation.
//  2. Creates, reconfigurations, power changes and deletions have separate limits. An object that finds no free slot
//     is woken when a slot is free, by priority and in turns between namespaces, so nothing polls. A namespace that
//     uses half of the slots waits while others with the same priority are queued. An offered slot is reserved until
//     the operation starts, the reconcile ends, or the offer expires.
//  3. A virtual machine that existed and is no longer visible is missing. The engine searches for it in the hypervisor
//     and destroys nothing. It recreates the virtual machine only if the object allows this. While many virtual
//     machines are missing, no object with a unique ID is created or deleted.
//  4. The end of every operation is reported through the channel of the call that started it, and by an event. A panic
//     of an operation becomes its error.
//  5. No operation starts while Options.Permit returns an error. Reconciles and running operations continue.
//  6. Run returns when all operations have ended. Tasks that are still running in the hypervisor continue, and the next
//     process finds them.
//
// An engine has one driver and no global state.
package engine
