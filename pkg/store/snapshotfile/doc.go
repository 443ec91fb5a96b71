// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotfile is the file in which etcd saves itself: its database, and a checksum of
// that, SHA-256, at the end. etcdctl writes the same.
//
// Guarantees:
//   - Write ends a file with its checksum. A file that was cut anywhere has none.
//   - Copy returns an error unless all that it read is a whole file, also if all of it was
//     written by then.
//   - Neither holds the file in memory.
package snapshotfile
