// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagefile reads images from the local disk: an OVA, an OVF descriptor with its files, or an ISO.
//
// Guarantees: the package reads only the given file or directory, and in it only regular files that the descriptor
// refers to, which may be in folders. Memory use is bounded, because disks are streamed. An image returned by Open
// has all files of its descriptor. After Verify, each file matches the digest in the manifest and has a digest to
// verify a copy.
package imagefile
