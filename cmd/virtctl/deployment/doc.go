// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deployment renders the embedded artifacts/deploy with the options of an installation.
//
// Guarantees:
//   - The same options give the same objects, in the order in which they are applied.
//   - All invalid options are reported together, each with its flag, its value and the allowed
//     values.
//   - Fields without an option have the values of artifacts/deploy.
package deployment
