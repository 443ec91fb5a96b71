// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies extends govmomi's storage policy service (SPBM) for the simulated vCenter. In govmomi every
// datastore is compatible with every policy, and compliance is not implemented.
//
// Additions:
//   - Policies by tags: Gold and Silver require a tag of the same name, Nowhere requires a tag that no datastore has,
//     and VM Encryption Policy requires none. A datastore is compatible if it has the tag.
//   - Virtual machines and disks that were created or changed with a profile are associated with it. They are
//     compliant while their datastores are compatible. Each query uses the current tags.
//
// Associations are lost when the simulator restarts.
package policies
