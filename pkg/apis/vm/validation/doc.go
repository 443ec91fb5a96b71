// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation decides whether objects of the vm.slipway.dev group may be
// stored.
//
// Guarantees:
//   - It is pure: the answer depends on the arguments alone.
//   - Every error names the field, the value that was given and what is allowed.
//   - All errors of an object are reported together.
//   - An update that leaves the spec as it is never fails because of the spec,
//     so that finalizers, labels and status of an object can be written also
//     after a rule became stricter.
package validation
