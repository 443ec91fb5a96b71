// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming makes the names of machines.
//
// Guarantees:
//   - A template is text with three variables and nothing else: it is no program, and what it
//     makes is as long as what is put in.
//   - The random part is never cut off, so that a name that is too long is still one's own.
package naming
