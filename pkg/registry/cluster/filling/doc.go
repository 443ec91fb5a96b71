// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filling sets defaults in objects of cluster.slipway.dev before they are stored, like the webhooks of
// Cluster API.
//
// Guarantees:
//   - Creating an object and replacing it by its manifest set the same values, so that applying a manifest again
//     changes nothing.
//   - Values in the request are not replaced, except the cluster name label and the "v" prefix of a version.
package filling
