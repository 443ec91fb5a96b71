// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house checks the rules of the source tree that a compiler does not know:
// licence headers, sizes of files and functions, names and comments of packages,
// comments of exported identifiers, what must not be left behind, and that every example
// is applied by a test.
//
// Guarantee: every Go file that is not generated is checked, in all modules of the
// repository; a finding names file and line.
package house
