// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections keeps the connections of this replica to vCenters.
//
// Guarantees:
//   - A vCenter is used while this replica holds its Lease, and as its VCenter object, or the
//     flags for the default one, describe it at the time.
//   - vCenters of other replicas are read by connections of their own, which change nothing.
package connections
