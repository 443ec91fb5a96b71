// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedeployment contains the controller of MachineDeployments. It creates a MachineSet for each template,
// and rolls Machines from one MachineSet to the next by changing their replicas.
//
// The plan is computed from the MachineDeployment, its MachineSets, their Machines and the current time only. It has no
// other state, so another process can continue a rollout.
//
// There are never more Machines than replicas and maxSurge allow. A rollout never reduces the available Machines below
// the number that replicas and maxUnavailable allow. For this, the plan predicts with the MachineSet controller's own
// function which Machines are deleted.
//
// The name of a MachineSet contains a hash of its template, so a repeated create request creates no duplicate. If a
// template is used again, its MachineSet is reused with the next revision. MachineSets without Machines are deleted
// according to revisionHistoryLimit.
//
// If the MachineDeployment is scaled while there are Machines of several templates, the difference is distributed in
// proportion to the size of the MachineSets. While it is paused, no Machine is rolled to a new template.
//
// MachineSets and status are written only if they have changed.
package machinedeployment
