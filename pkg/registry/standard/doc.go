// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standard serves kinds that need nothing but the conventions of the
// Kubernetes API: a spec, perhaps a status, and validation.
//
// Guarantees:
//   - Creation drops status and starts generation at 1, but for an object that was lost with
//     the store and is made again.
//   - The main endpoint keeps the stored status, and generation moves only when spec
//     does; the status endpoint keeps the stored spec, labels, annotations,
//     finalizers and owners.
//   - A subresource changes its part of the object only, and no metadata.
//   - Server-side apply owns no field that the endpoint ignores.
//   - A PUT names the version that it replaces and never creates.
package standard
