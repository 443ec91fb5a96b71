// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networks decides which addresses the server may connect to if a user chose the address: the address that a
// guest reports, or the endpoint of a workload cluster. Without this check users could find out which ports are open
// in networks that only the server can reach, and could connect to them from the server's address.
//
// Guarantees:
//
//   - The decision depends on the address alone. The package does not resolve names: a dialer calls
//     [Networks.Control] for each address before it connects.
//   - Until the addresses of the management cluster are known, all connections are denied unless an administrator
//     configured the allowed networks.
package networks
