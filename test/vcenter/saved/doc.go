// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package saved keeps the changeable part of the simulated inventory between
// runs: virtual machines, snapshots, folders, resource pools and the files of
// the datastores.
//
// A Keeper saves while the inventory is in use, a moment after each change: who is
// killed loses what changed in the last second, or in ten times as long as a save
// takes if that is more.
//
// Guarantees: a save replaces the previous one as a whole or not at all; a
// restore gives back every saved object under its reference, with power state,
// hardware, extra configuration and UUIDs, and continues the numbering of
// references where it ended; a save of a different fixed inventory is refused.
// Tasks, events, sessions, tags and content libraries are not kept.
package saved
