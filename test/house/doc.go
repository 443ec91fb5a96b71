// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house checks rules of the source tree that the compiler does not check: licence headers, sizes of files and
// functions, names and comments of packages, comments of exported identifiers, forbidden leftovers, and that a test
// applies every example.
//
// Guarantee: every Go file that is not generated is checked, in all modules of the repository. A finding names file
// and line.
package house
