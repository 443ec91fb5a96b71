// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi runs the core controllers of the real Cluster API beside a local
// environment, for tests and benchmarks.
//
// Guarantees:
//   - Start returns with the CustomResourceDefinitions established and the manager
//     ready, or with an error and nothing left running. Stop leaves no process.
//   - What Cluster API installs in a cluster is applied as it is published, except that
//     its webhooks are reached by URL, as nothing here runs Pods: admission and
//     conversion work as in a cluster.
//   - The manager has exactly the rights of its published ClusterRole and of those that
//     are aggregated to it. It holds no election: it is alone.
//   - Its webhook server has no flag for an address and listens on all of them. Nothing
//     else of it does.
package clusterapi
