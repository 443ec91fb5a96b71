// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the programs as a user has them: a real kube-apiserver, a real
// kube-controller-manager, slipway-apiserver and the simulated vCenter, each a
// process of its own, over TLS on the loopback interface.
//
// Each test is a story of one topic: it goes through the life of one virtual machine or namespace in parts.
// A story that is tested at two levels keeps the lowest level that can fail. Only what kubectl itself does is done
// by kubectl, since each of its processes costs as much as all that the servers do for the request.
//
// Machines have a workload cluster, which is a second kube-apiserver with kube-controller-manager. The tests create its
// Nodes, as kubelets do.
//
// Guarantees:
//   - One environment serves the tests of the package; a test works in a namespace of
//     its own, which is removed at its end. Those that disturb nobody run beside each
//     other, after those that do.
//   - A test that disturbs others, or needs other options, is in test/operations.
//   - Nothing is left running, also when a test panics or times out.
//   - Tests wait for conditions with a deadline and assert no durations.
package e2e
