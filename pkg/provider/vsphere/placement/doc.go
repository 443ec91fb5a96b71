// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement resolves where virtual machines go and what they are made
// from: datacenter, folder, resource pool, datastore, networks, images.
//
// Each kind of place has a type of its own: folders, compute (resource pools, clusters, hosts),
// datastores, capacity, classes (StorageClasses and storage policies), media (ISO files), networks and
// images. Resolver has one of each for a zone.
//
// What was found is used for five minutes, so that a create asks for it
// seldom, also when many begin at the same time, and is looked up again then and
// after Invalidate. Only so much of it is kept that names which are no longer used
// do not add up. What was not found is never remembered. All failures of a check
// are reported together, each under the condition that it belongs to.
package placement
