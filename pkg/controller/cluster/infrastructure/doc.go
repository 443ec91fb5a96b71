// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure contains the controller of SlipwayClusters, the infrastructure of Clusters. It reports whether
// machines can be created, and in which zones.
//
// A SlipwayCluster is provisioned when the zones have been read and the endpoint of its cluster is known. The endpoint
// is in its own spec, or in the Cluster that owns it and refers to it. It remains provisioned.
//
// Its failure domains are the zones that are available to the namespace. They do not change while this is unknown for
// one of the zones.
//
// While the SlipwayCluster or its Cluster is paused, only the Paused condition is written. The controller creates no
// other objects, so SlipwayClusters have no finalizer.
package infrastructure
