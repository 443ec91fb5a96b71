// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema generates odd objects of all kinds from their OpenAPI schemas. Every list, map and leaf is a
// position at which any value can be set.
//
// Guarantees: content and order of the result depend only on the arguments. The package sends no requests.
package schema
