// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv is what tests of the whole environment share: its start, the users that run
// kubectl and virtctl in it, and what they make and look at.
//
// Guarantees:
//   - Tests share the environment of Main. One that calls Own has an environment to itself, which
//     everything here then acts on.
//   - Tests share one workload cluster, which starts with the first test that needs it.
//   - A test works in a namespace of its own, which is removed at its end.
//   - Waits have a deadline, which is many times what an idle machine needs.
package testenv
