// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache stores copies of images at the locations of VirtualMachineImageCaches.
//
// A key of its queue is the part of a cache that is in one vCenter. The replica that holds the Lease of the vCenter
// reconciles it. Each part writes only its own locations of the shared status.
//
// Guarantees:
//
//  1. Copies are created and removed by background operations, not by the workers of the queue.
//  2. Status has a directory before it is created, and its files when all of them are complete. If the process ends
//     during a copy, the next copy uses another directory, and the first one is removed.
//  3. A location that could not be read is Unknown, and nothing is changed. Failed operations are retried with a growing
//     delay.
//  4. A location stays in status, and the cache exists, until its directory is removed. A directory in use is not removed.
//  5. Progress is written rarely, and only if it has changed.
package cache
