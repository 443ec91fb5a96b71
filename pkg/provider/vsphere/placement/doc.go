// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement resolves the locations and sources of virtual machines: datacenter, folder, resource pool,
// datastore, networks and images.
//
// Each kind has its own type: folders, compute (resource pools, clusters, hosts), datastores, capacity, classes
// (StorageClasses and storage policies), media (ISO files), networks and images. A Resolver has one of each for a
// zone.
//
// Results are cached for five minutes, so that many simultaneous creates need few requests. After that time, and
// after Invalidate, they are resolved again. The size of the caches is limited. Failed lookups are not cached. A
// check reports all failures together, each under its condition.
package placement
