// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app puts the parts of slipway-apiserver together.
//
// Guarantees:
//   - No other package knows all parts. build.go creates every part in the order in which they
//     need each other, the controllers included; nothing is started there. run.go and runner.go run
//     and end them.
//   - Every replica serves the API. Most controllers run in the replica that holds the Lease of
//     the controllers. Controllers of objects that belong to a vCenter run in every replica and
//     manage those of the vCenters whose Leases it holds; they pause when a Lease is lost.
//   - Objects are served, and Leases are taken, when the host cluster knows the store.
//   - Controllers write by the server's own API, like any client. Informers of virtual machines
//     and their instances read the objects from the watch caches of the stores.
//   - When Run returns, controllers, server and embedded etcd have stopped, in this order.
package app
