// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package malformed tells where in a document a value stands that its type cannot be
// made of. Decoders do not say so of types that read themselves, such as amounts and
// times, and patches not at all.
//
// Guarantees: Find is asked after a document was refused, and returns nil where it finds
// nothing to add. Bounded takes time in proportion to the length of a patch.
package malformed
