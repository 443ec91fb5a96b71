// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory builds the fixed part of the simulated vCenter: datacenter, cluster, hosts, datastores, networks
// and folders.
//
// Guarantees: the same options give the same managed object references at every start, so that a saved virtual
// machine finds its host, pool, datastore and network again. Datastore files are created only in the given directory.
package inventory
