// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections opens and closes the connections of this replica to vCenters.
//
// Guarantees:
//   - A vCenter is in use while this replica holds its Lease. Its current VCenter object describes the connection, or the
//     flags for the default vCenter.
//   - vCenters of other replicas are read through separate connections, which change nothing.
package connections
