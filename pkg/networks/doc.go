// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networks says which addresses the server may connect to when the address was
// chosen by a user: one that a guest reports, or the endpoint of a workload cluster.
// Without it every user could find out who listens where in the network that the server
// is in, and speak to it in the place of the server.
//
// Guarantee: the answer depends on the address alone. No name is resolved here; who
// connects to names asks for every address that he is about to connect to.
package networks
