// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps copies of images where VirtualMachineImageCaches say.
//
// A key of its queue is the part of a cache that is in one vCenter, so that each is done by
// who holds the Lease of that. All parts write the one status, each its own locations of it.
//
// Guarantees:
//
//  1. Copies are made, and removed, off the workers.
//  2. A directory is in status before it is made. Its files are there when all of them are
//     complete, and not before: after the end of a process in the middle of a copy another
//     directory is made, and the first one removed.
//  3. What could not be read is Unknown and changes nothing. All that fails is tried again
//     with a growing delay.
//  4. A location stays in status, and the cache stays, until its directory is removed, which
//     is not before it is out of use.
//  5. Progress is written seldom, and only where it has changed.
package cache
