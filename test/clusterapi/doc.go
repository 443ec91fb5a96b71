// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi tests virtual machines as infrastructure of the real Cluster API: its
// core controllers run beside a whole local environment, and a second kube-apiserver is the
// cluster that the machines are nodes of.
package clusterapi
