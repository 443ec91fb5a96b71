// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package behaviours checks that tests name every behaviour that the project guarantees: of instance types,
// preferences and synchronizers, every row about Machines that has no reason for its absence, and every point of
// docs/contributing/hardening.md. It also checks that the files and tests in docs/contributing/vm-controller.md exist.
//
// Guarantees:
//   - Each number of a table occurs, as F, MT or MB and the number, in a text or comment of at least one test of
//     another package.
//   - No test names a number that is not in the table.
//
// The package only reads the sources. The author and the reviewer of a test check that it asserts the behaviour that
// it names.
package behaviours
