// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine defines which changes each endpoint of virtualmachines may make.
//
// Guarantees:
//   - Creation clears status, sets the finalizer, and sets permanent defaults: a firmware UUID and, unless the
//     network is disabled, an interface. The rest of the spec is not changed.
//   - The main endpoint preserves the stored status and increments generation only if spec changes.
//   - The status endpoint preserves the stored spec and metadata.
//   - A power endpoint changes only the power fields of spec.
//   - A refresh endpoint changes only the references to one revision.
//   - Invalid objects are rejected with the field; questionable ones cause a warning.
package virtualmachine
