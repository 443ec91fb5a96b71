// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines tests Machines, MachineSets, MachineDeployments, MachineHealthChecks and drains with real
// components. The infrastructure is VMs of the server with a simulated vCenter. The workload cluster is a second
// kube-apiserver with kube-controller-manager. There are no kubelets: the tests create the Nodes, and a deleted Pod
// stays until the test removes it.
//
// Guarantee: each test has its own namespace and deletes the objects that it has created.
package machines
