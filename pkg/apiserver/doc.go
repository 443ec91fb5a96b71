// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the inside of the API server that is neither a resource nor a
// flag: how objects are kept, which groups are served, and who is recorded as the owner
// of a field.
//
// Guarantees:
//   - Objects are stored in protobuf and are read in every encoding that was ever
//     written.
//   - What a subresource changes is recorded in managed fields like any other write.
//   - Objects that the watch cache holds, and shares with requests and informers, are not
//     written when they are read: what they would note at the first look is noted before.
//   - It knows no controller and no provider: it serves the API without them.
package apiserver
