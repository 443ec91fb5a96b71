// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standard implements API storage for kinds that follow the conventions of the Kubernetes API: a spec, an
// optional status, and validation.
//
// Guarantees:
//   - Creation clears status and sets generation to 1, except for an object that is recreated after the store was
//     lost.
//   - The main endpoint preserves the stored status and increments generation only if spec changes. The status
//     endpoint preserves the stored spec, labels, annotations, finalizers and owner references.
//   - A subresource changes only its part of the object and no metadata.
//   - Server-side apply does not own fields that the endpoint ignores.
//   - A PUT requires a resource version and never creates an object.
package standard
