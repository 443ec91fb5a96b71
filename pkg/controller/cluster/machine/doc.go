// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine is the controller of Machines: it takes over bootstrap data and
// infrastructure, finds the Node, and deletes all of it in order. docs/machines.md describes
// it for users, with what differs from Cluster API.
//
// What it guarantees:
//
//  1. A pass reads its facts once, runs every phase whatever another one failed with, makes
//     conditions of what it knows, the phase last, and writes metadata and status at most
//     once each, and nothing when nothing changed. What somebody else has written in between
//     is never overwritten: the pass is made again.
//  2. A deletion is a table of stages. How far it is, and since when, is persisted, and no
//     stage is gone back to. A stage ends by what is known of it: what could not be read is
//     never taken for gone, and the deletion stays where it is.
//  3. Only what is the Machine's own is deleted: an object that somebody else controls stays,
//     and so does a Node that another machine has taken the name of.
//  4. Of another kind of object only its contract is looked at (pkg/cluster/contract). It is taken over
//     before anything of it is believed.
//  5. No worker waits for a workload cluster that does not answer: without a connection the
//     Machine waits for the event of its coming. While a Node is drained, or its volumes are
//     waited for, events do not bring the Machine back for twenty seconds; what somebody asks
//     of the Machine itself or of its Cluster does.
//  6. Hooks are waited for without being looked at.
//  7. A Cluster that is paused, goes on, or is deleted has its Machines looked at at once.
package machine
