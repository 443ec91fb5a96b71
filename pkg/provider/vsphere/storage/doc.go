// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage determines the storage policy and the datastores for the disks of a virtual machine.
//
// Guarantees:
//
//  1. If a storage class cannot be resolved, the error names the class, the policy and the reason. No other policy or
//     datastore is used instead.
//  2. Choose, Usable and NeedsOf are pure functions. They do not query vSphere.
package storage
