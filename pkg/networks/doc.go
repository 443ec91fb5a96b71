// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networks decides which addresses the server may connect to if a user chose the
// address: the address that a guest reports, or the endpoint of a workload cluster. Without
// it, users could find out which ports are open in networks that only the server can reach,
// and could connect to them from the server's address.
//
// Guarantees:
//
//   - The decision depends on the address alone. No name is resolved here: a dialer calls
//     [Networks.Control] for each address that it is about to connect to.
//   - Until the addresses of the management cluster are known, no connection is made unless
//     an administrator named the networks that may be connected to.
package networks
