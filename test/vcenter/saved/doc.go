// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package saved stores the changeable part of the simulated inventory between runs: virtual machines, snapshots,
// folders, resource pools and the files of the datastores.
//
// A Keeper saves while the inventory is in use, a moment after each change. A killed process loses the changes of the
// last second, or of ten times the duration of a save if that is more.
//
// Guarantees:
//   - A save replaces the previous one completely or not at all.
//   - A restore recreates every saved object with its reference, power state, hardware, extra configuration and
//     UUIDs. New references continue the previous numbering.
//   - A save of a different fixed inventory is refused.
//   - Tasks, events, sessions, tags and content libraries are not saved.
package saved
