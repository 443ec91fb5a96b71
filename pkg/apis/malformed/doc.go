// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package malformed locates values in a document that cannot be decoded into their type. Decoders do not report the
// location for types with their own unmarshaling, such as quantities and times, or for patches.
//
// Guarantees: Find is called after a document was rejected, and returns nil if it has nothing to add. The time that
// Bounded takes is proportional to the length of the patch.
package malformed
