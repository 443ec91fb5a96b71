// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi tests virtual machines as infrastructure of the real Cluster API. The core controllers of
// Cluster API run next to a whole local environment, and a second kube-apiserver is the workload cluster.
package clusterapi
