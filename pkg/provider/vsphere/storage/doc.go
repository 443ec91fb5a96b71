// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage says what the disks of a virtual machine need of vSphere: by which
// storage policy each is kept, and which datastores can have it.
//
// Guarantees:
//
//  1. What a class cannot be resolved to is an error that names the class, the policy and
//     what is wrong with them; nothing falls back to another policy or datastore.
//  2. Deciding is pure: Choose, Usable and NeedsOf ask nothing of vSphere.
package storage
