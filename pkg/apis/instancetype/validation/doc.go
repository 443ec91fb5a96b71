// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects of the instancetype.slipway.dev group.
//
// Guarantees:
//   - Validation is pure: the result depends only on the arguments.
//   - Every error contains the field, its value and the allowed values.
//   - All values that instancetype.kubevirt.io/v1beta1 accepts and vSphere supports are accepted. Fields
//     that are deprecated or have no effect on vSphere cause a warning, not an error.
package validation
