// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deployment makes the manifests of an installation of artifacts/deploy and of what
// an installation chooses.
//
// Guarantees:
//   - The same options give the same objects, in the order in which they are to be applied.
//   - Every option that is wrong is named with its flag, its value, and what is allowed, all
//     of them at once and before anything is made.
//   - What is not chosen is as artifacts/deploy has it.
package deployment
