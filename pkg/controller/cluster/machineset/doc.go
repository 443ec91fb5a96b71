// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineset contains the controller of MachineSets. It creates and deletes Machines, each with a bootstrap and
// an infrastructure object from the templates of the MachineSet.
//
// # Creation
//
// A Machine is created before the objects that it refers to, and owns them from their creation. If the process ends in
// between, no object is left without an owner, and the next reconcile creates the missing objects.
//
// The name of a Machine is derived from the MachineSet, its generation and the existing Machines. A repeated create
// request has the same name, so it creates no duplicate.
//
// A reconcile sees the creations and deletions of previous reconciles, even if the informer is behind. Each reconcile
// creates and deletes a limited number of Machines. A MachineSet that is deleted or being deleted creates none.
//
// # Deletion
//
// The choice of Machines to delete depends only on the Machines. Machines that are being deleted count until they are
// deleted, so that no others are deleted or created in their place. The garbage collector deletes the Machines of a
// deleted MachineSet.
//
// # Updates
//
// Fields that can be changed in place (labels, annotations, timeouts, readiness gates, taints) are copied to existing
// Machines. Labels and annotations that others have set remain. Status, and conditions of Machines, are written only if
// they have changed, and only with the resource version that was read.
package machineset
