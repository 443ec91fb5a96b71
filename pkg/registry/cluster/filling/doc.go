// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filling completes objects of cluster.slipway.dev before they are stored, as the
// webhooks of Cluster API do.
//
// Guarantees:
//   - What is filled in is the same for an object that is created and for one that is replaced
//     by its manifest, so that applying the manifest again changes nothing.
//   - Nothing that was given is replaced, but for the label with the name of the cluster and
//     the v before a version.
package filling
