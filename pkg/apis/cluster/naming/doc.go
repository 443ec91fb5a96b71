// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming generates the names of machines.
//
// Guarantees:
//   - A template contains only text and three variables. It is not evaluated as a program, and the
//     length of its result is proportional to the length of its input.
//   - The random part is never truncated, so that a truncated name is still unique.
package naming
