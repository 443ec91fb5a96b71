// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app puts the parts of slipway-apiserver together.
//
// Guarantees:
//   - It is the only package that knows all parts: options become a configuration, the
//     configuration a server; wiring.go is the only file that wires controllers, and a
//     controller is one line of its list.
//   - The API is served by every replica. Controllers run in the one that holds the
//     Lease, which leaves the process when the Lease is lost.
//   - Objects are served, and the Lease is taken, when the host cluster knows the store.
//   - Controllers reach the server by its own API, like any client.
//   - When Run returns, controllers, server and embedded etcd have stopped, in this order.
package app
