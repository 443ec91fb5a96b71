// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedeployment rolls Machines from one template to the next: it makes a
// MachineSet of each template and says how many Machines every set has.
//
// Guarantees:
//
//  1. What the sets are to have is computed of the deployment, its sets, their Machines and
//     the time alone. It remembers nothing: a process that takes over goes on.
//  2. There are never more Machines than replicas and maxSurge allow, and never fewer
//     available ones by its doing than replicas and maxUnavailable allow: which Machines a
//     smaller set loses is asked of the same function that its controller asks.
//  3. The name of a set follows from its template. A create that is repeated makes no twin.
//  4. A set of a template that was there before is used again, under the next revision. Sets
//     without Machines are kept as revisionHistoryLimit says.
//  5. Scaling while there are Machines of several templates is shared among them by their
//     size; nothing is rolled to a new template while the deployment is paused.
//  6. Sets and status are written when they say something else only.
package machinedeployment
