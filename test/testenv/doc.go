// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv contains the code that tests of the whole environment share: start and stop, users that run kubectl
// and virtctl, and helpers that create and check objects.
//
// Guarantees:
//   - Tests share the environment of Main. A test that calls Own gets its own environment, on which all functions of
//     the package then act.
//   - Tests share one workload cluster, which starts with the first test that needs it.
//   - A test works in its own namespace, which is removed at its end.
//   - Waits have a deadline, which is many times the duration on an idle machine.
package testenv
