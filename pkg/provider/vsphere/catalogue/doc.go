// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue reads the image sources of one vCenter: content library items and templates.
//
// Guarantees: the package does not write. A list of items is complete, or an error is returned. An item that is
// deleted during the read is omitted. A NotUsableError means that vCenter has responded; after any other error the
// state is not known. The number of items of a library and the size of descriptors are limited. Package descriptor
// limits the content of descriptions.
package catalogue
