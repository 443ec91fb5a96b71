// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation decides whether objects of the instancetype.slipway.dev
// group may be stored.
//
// Guarantees:
//   - It is pure: the answer depends on the arguments alone.
//   - Every error names the field, the value that was given and what is allowed.
//   - Whatever instancetype.kubevirt.io/v1beta1 accepts and vSphere can provide
//     is accepted. Fields that are deprecated or mean nothing to vSphere are
//     answered with a warning, not refused.
package validation
