// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operations tests the tasks of operators and failures of the server: installation, update, stop, kill,
// restore and removal, a lost or replaced store, and several vCenters.
//
// Guarantees:
//   - Tests that only need a server that they can kill run one after the other in one environment. Tests that need
//     other options, or take the environment apart, have their own and run in parallel.
//   - Starting an environment costs more than ten seconds of CPU time. A test with a single check is therefore a
//     subtest of a test with a suitable environment.
//   - No process is left running, even if a test panics or times out.
package operations
