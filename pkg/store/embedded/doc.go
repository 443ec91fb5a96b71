// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedded runs a member of etcd inside the calling process: a lone one, or one
// of a cluster, whose members package etcdmembers looks after.
//
// Guarantees:
//   - Start returns only when the member serves reads and writes, and its data
//     survives Close and a later Start on the same directory.
//   - Clients reach it over a unix socket that only the current user may open; a TCP port
//     is used for the other members of a cluster alone, with certificates on both sides.
//   - Every acknowledged write is on disk unless Options.UnsafeNoFsync is set.
//   - In a cluster, what a change of the leader loses on its way is asked for again: reads,
//     and writes that depend on the revision of the one key that they write. No such write is
//     done twice, or said to have failed on its condition when it may have been done; that it
//     was done is said by etcd alone.
//   - Two processes cannot run on one directory at the same time; the second is
//     refused.
//   - Its warnings and errors are in the log of the context that it was started with,
//     and Metrics has its metrics.
package embedded
