// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access checks whether a vCenter account has the privileges that Slipway needs and whether
// the vCenter version is supported.
//
// Guarantees:
//
//  1. It does not change vCenter and creates no objects.
//  2. It reports all missing privileges together, each with its object.
//  3. A failed query is reported as an error, not as a missing privilege.
//  4. Privileges of optional features are reported separately from the required ones.
package access
