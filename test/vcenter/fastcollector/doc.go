// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fastcollector replaces the simulator's property collector, whose update loop reads every object of a filter
// again after every change.
//
// Guarantees:
//   - The work for a batch of changes grows with the number of changed objects, not with the number of watched ones.
//     The set of selected objects is computed again only if an object that selects others (a view, a folder) has
//     changed.
//   - A changed object is read completely, except for an unchanged configuration, and compared with the values that
//     were last sent. A change of a parent path therefore reaches the watchers of its children. A property is sent
//     only if its value differs.
//   - A wait ends when its session ends, when it is cancelled, or when the hub is closed. A second wait on one
//     collector cancels the first.
//   - A container view contains the current content of its container: objects that are moved out leave it, and
//     objects that are moved in enter it with all their descendants.
//   - In reads, pages, waits and views, a client sees only the objects that package sight allows for its account.
//   - The last answered version may be requested once more and gets the same answer. Any other stale version is
//     refused.
package fastcollector
