// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fastcollector replaces the simulator's property collector, whose
// update loop reads every object of a filter again for every change anywhere.
//
// Guarantees:
//   - The work per batch of changes grows with the number of changed objects,
//     not with the number of watched ones. Membership is evaluated again only
//     when an object that selects members (a view, a folder) has changed.
//   - A touched member is read as a whole, except a configuration that has not
//     changed, and is compared with what was last sent, so a change of a parent
//     path reaches the watchers of its children, and a property is sent only when
//     its value differs.
//   - A wait ends when its session ends, when it is cancelled, and when the hub
//     is closed; a second wait on one collector cancels the first.
//   - A container view holds what is in its container now: what is moved out
//     leaves, what is moved in enters, with everything below.
//   - A client sees what package sight lets its account see, whether it reads,
//     pages, waits or follows a view.
//   - A version that was already answered may be asked for again once, and gets
//     the same answer; any other stale version is refused.
package fastcollector
