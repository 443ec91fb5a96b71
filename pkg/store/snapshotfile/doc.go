// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotfile is the file in which etcd saves itself: its database, and a checksum of
// that, SHA-256, at the end. etcdctl writes the same.
//
// Guarantees:
//   - Copy returns an error unless all that it read is a whole file, also if all of it was
//     written by then. A file that was cut anywhere has no checksum.
//   - The file is not held in memory.
package snapshotfile
