// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package behaviours checks that every behaviour of instance types, preferences and
// synchronizers that the project stands for is named by a test, that every row about Machines
// is, or has a reason why it is not built, and that every point of docs/hardening.md is. It
// compares docs/vm-controller.md, which names files and tests of each box, with the tree.
//
// Guarantees: each number of a table occurs, as F, MT or MB and the number, in a text or
// comment of at least one test of another package; and no test names a number that the
// table does not have. It reads the sources and runs nothing: whether a test asserts what it
// names is for its author and reviewer to see.
package behaviours
