// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure says of SlipwayClusters, which are the infrastructure of Clusters, that
// machines can be made, and in which zones.
//
// Guarantees:
//
//  1. One is provisioned once the endpoint of its cluster is known, by its own spec or by the
//     Cluster that owns it and names it as its infrastructure, and the zones are read. That is
//     never taken back.
//  2. Failure domains are the zones that machines of the namespace can be in. As long as that is
//     not known of one of them they stay as they were.
//  3. While it or its Cluster is paused only that is written.
//  4. Nothing is made for it elsewhere, so that nothing keeps it from being deleted.
package infrastructure
