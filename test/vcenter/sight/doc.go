// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sight decides which parts of the simulated inventory a client sees. It hides virtual machines that vCenter
// cannot read, objects without privileges for the account, and tasks that a restart has dropped.
//
// Guarantees:
//   - The simulator's objects are not changed, so hiding can be undone immediately.
//   - Reads, lists, views and privileges are consistent.
//   - Watching clients are notified of every change.
package sight
