// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagefile reads images from the local disk: an OVA, an OVF descriptor with its
// files, or an ISO.
//
// Guarantees: nothing is read but the file or directory that was named, and in it only
// regular files that the descriptor names, which may be in folders. Memory is
// bounded; disks are only streamed. An image that Open returns has all the files that its descriptor names; after
// Verify each of them has the digest of the manifest, and a digest by which a copy of it can
// be judged.
package imagefile
