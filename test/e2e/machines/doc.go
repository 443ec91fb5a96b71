// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines tests Machines, MachineSets, MachineDeployments, MachineHealthChecks and drains on real parts: the
// server with a simulated vCenter, whose VMs are the infrastructure, and a workload cluster that is a second
// kube-apiserver with kube-controller-manager. The tests create the Nodes, as kubelets do. There are no kubelets: a
// Pod that is deleted stays until the test removes it.
//
// Guarantees: each test has a namespace, and deletes what it has created.
package machines
