// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineset keeps as many Machines as MachineSets want, each with the bootstrap and
// the infrastructure object that the templates give it.
//
// Guarantees:
//
//  1. A Machine is made before what it refers to, which it owns from the beginning: nothing is
//     left over by a process that ends in between, and the next one makes what is missing.
//  2. The name of a Machine follows from the set, its generation and the Machines that there
//     are. A create that is repeated, because its answer was lost or the process ended, has the
//     same name and makes no twin.
//  3. A pass sees what the passes before it have made and deleted, however far the informer is
//     behind.
//  4. Which Machines go follows from the Machines alone. Those that go already are counted
//     until they are gone: none goes, and none is made, in their place.
//  5. What can be changed in place (labels, annotations, timeouts, readiness gates, taints) goes
//     to the Machines that are there; what others have set on them stays.
//  6. A pass makes and deletes a bounded number of Machines, and the next one goes on.
//  7. Status, and conditions of Machines, are written when they say something else only, and
//     never over what somebody else wrote meanwhile.
//  8. A MachineSet that is gone, or being deleted, makes nothing. The garbage collector deletes
//     its Machines.
package machineset
