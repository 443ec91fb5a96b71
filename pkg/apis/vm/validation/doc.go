// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects of the vm.slipway.dev group.
//
// Guarantees:
//   - Validation is pure: the result depends only on the arguments.
//   - Every error contains the field, its value and the allowed values.
//   - All errors of an object are reported together.
//   - An update that does not change the spec never fails because of the spec. Finalizers, labels and
//     status can therefore be written after a rule became stricter.
package validation
