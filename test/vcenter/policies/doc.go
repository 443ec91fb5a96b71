// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies is the storage policy service (SPBM) of the simulated vCenter, around
// that of govmomi, to which every datastore is compatible with every policy and which knows
// of no compliance.
//
// What it adds:
//   - Policies by tags, as administrators make them: Gold and Silver ask for a tag of that
//     name, Nowhere for one that no datastore has, and VM Encryption Policy for none. A
//     datastore is compatible if it has the tag.
//   - Virtual machines and disks that were made or changed with a profile are associated
//     with it, and compliant while their datastores are compatible. Who asks again learns
//     of tags that have changed since.
//
// Associations are not kept over a restart of the simulator.
package policies
