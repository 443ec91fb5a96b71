// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi reads the Machines and Clusters that objects of ours are the
// infrastructure of: those of our own API, and those of Cluster API in the host cluster.
//
// Guarantees:
//
//  1. A host cluster without Cluster API is asked for it only when an object of ours belongs to
//     it, in growing intervals, and without an error in the log. It may come and go while the
//     server runs.
//  2. What could not be read is ErrUnread, and never absent.
//  3. Of each object only what counts here is kept, and only a change of that is told.
//  4. Nothing is written.
package clusterapi
