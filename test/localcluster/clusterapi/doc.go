// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi runs the core controllers of the real Cluster API next to a local environment, for tests and
// benchmarks.
//
// Guarantees:
//   - Start returns when the CustomResourceDefinitions are established and the manager is ready. If it returns an
//     error, no process is left running. Stop ends all processes.
//   - The published manifests of Cluster API are applied unchanged, except that webhooks are reached by URL because
//     no Pods run here. Admission and conversion work as in a cluster.
//   - The manager has exactly the permissions of its published ClusterRole and of the ClusterRoles that are
//     aggregated to it. Leader election is disabled.
//   - Its webhook server has no flag for an address and listens on all addresses. All other servers of the manager
//     listen on loopback.
package clusterapi
