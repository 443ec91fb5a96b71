// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app builds and runs slipway-apiserver.
//
// Guarantees:
//   - No other package knows all components. build.go creates them in the order of their dependencies,
//     including the controllers, and starts none. run.go and runner.go start and stop them.
//   - Every replica serves the API. Most controllers run in the replica that holds the Lease of
//     the controllers. Controllers of objects that belong to a vCenter run in every replica. Each
//     manages only the objects of the vCenters whose Leases its replica holds, and pauses for a
//     vCenter when its Lease is lost.
//   - The server serves objects and acquires Leases only if the store's identity matches the one
//     that is recorded in the management cluster.
//   - Controllers write through the server's own API, like any client. Informers of virtual machines
//     and their instances read from the watch caches of the stores.
//   - When Run returns, controllers, server and embedded etcd have stopped, in this order.
package app
