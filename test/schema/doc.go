// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema makes odd objects of all kinds by their OpenAPI schemas: every list, map
// and leaf is a place, at which any value can be put.
//
// Guarantees: what it makes depends on its arguments alone, in content and order; it asks
// no server.
package schema
