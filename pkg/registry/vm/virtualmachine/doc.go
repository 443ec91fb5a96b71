// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine says what each endpoint of virtualmachines may change.
//
// Guarantees:
//   - Creation drops status, sets the finalizer, and fills what every VM needs for
//     life: a firmware UUID and, unless the network is disabled, an interface.
//     Everything else of the spec stays as the user wrote it.
//   - The main endpoint keeps the stored status; generation moves only when spec does.
//   - The status endpoint keeps the stored spec and metadata.
//   - A power endpoint changes nothing but the power fields of spec.
//   - A refresh endpoint changes nothing but the references to one revision.
//   - Bad objects are refused with the field named; odd ones are answered with a
//     warning.
package virtualmachine
