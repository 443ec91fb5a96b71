// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access tells whether an account may do in vCenter what Slipway does there,
// and whether vCenter is new enough.
//
// Guarantees:
//
//  1. It changes nothing in vCenter and makes nothing.
//  2. All that is missing is reported together, each privilege with the object that it
//     is missing on.
//  3. What could not be asked is an error and not a privilege.
//  4. What only some installations use is told apart from what all need.
package access
