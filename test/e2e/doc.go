// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the real programs: kube-apiserver, kube-controller-manager, slipway-apiserver and the simulated
// vCenter. Each is a process of its own and uses TLS on the loopback interface.
//
// Each test covers one topic and follows one virtual machine or namespace through its life in subtests. A behaviour
// that can be tested at two levels is tested at the lowest level that can fail. Tests use kubectl only for behaviour
// of kubectl itself, because a kubectl process costs as much CPU time as the servers need for the request.
//
// Machines have a workload cluster, which is a second kube-apiserver with kube-controller-manager. The tests create its
// Nodes, as kubelets do.
//
// Guarantees:
//   - The tests of the package share one environment. A test works in its own namespace, which is removed at its end.
//     Tests that do not disturb others run in parallel, after the tests that do.
//   - A test that disturbs others, or needs other options, is in test/operations.
//   - No process is left running, even if a test panics or times out.
//   - Tests wait for conditions with a deadline and do not assert durations.
package e2e
