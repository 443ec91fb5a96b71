// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinesets tests MachineDeployments, MachineSets, MachineHealthChecks and Clusters
// on real parts: the server with a simulated vCenter, whose virtual machines are the
// infrastructure, and a second Kubernetes cluster, whose Nodes the tests make for Machines
// that have an address, as kubelets do.
//
// Guarantees: each test has a namespace, and takes what it has made away.
package machinesets
