// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operations tests what operators do with the server, and what happens to it: it is
// installed, updated, stopped, killed, restored and removed, its store is lost or replaced, and it
// has several vCenters. The workload cluster of its Machines may not answer.
//
// Guarantees:
//   - Tests that need only a server of their own to kill run one after the other in one
//     environment. Those that need other options, or take the environment apart, have one of their
//     own, in parallel.
//   - Each start of an environment costs more than ten seconds of a core: a test that only checks one thing
//     is a part of one that has such an environment.
//   - Nothing is left running, also when a test panics or times out.
package operations
