// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver assembles the API server: it configures storage and codecs, installs the API groups, and wraps
// request handlers, authentication, authorization and admission. Resources are defined in pkg/registry and flags in
// cmd/slipway-apiserver.
//
// Guarantees:
//   - Objects are stored in protobuf. Every encoding that an earlier version wrote can be read.
//   - A change through a subresource is recorded in managed fields like any other write.
//   - Objects in the watch cache are shared with requests and informers. Reading an object does not modify it,
//     because values that are computed on first use are computed when the object is decoded.
//   - The package does not import controllers or providers and serves the API without them.
package apiserver
