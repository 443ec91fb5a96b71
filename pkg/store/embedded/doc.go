// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedded runs a single etcd member in the calling process through etcd's public API.
//
// Guarantees:
//   - Start returns only when the member serves reads and writes, and its data
//     survives Close and a later Start on the same directory.
//   - Clients reach it over a unix socket that only the current user can open. It has no TCP port.
//   - Every acknowledged write is on disk unless Options.UnsafeNoFsync is set.
//   - Two processes cannot run on one directory at the same time; the second is
//     refused.
//   - Its warnings and errors are in the log of the context that it was started with,
//     and Metrics has its metrics.
package embedded
