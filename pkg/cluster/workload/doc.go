// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload manages connections to workload clusters: the Kubernetes clusters whose nodes are Machines. A
// cluster is identified by the namespace and name of its Cluster. Its kubeconfig is in the key "value" of the Secret
// <name>-kubeconfig in the same namespace.
//
// # Callers
//
// Callers never wait. Connection and Probe return cached state. If there is no connection, Connection returns
// ErrNotConnected and requests one. After the first failed probe, callers' requests fail immediately instead of waiting
// for a cluster that does not answer. A slow cluster occupies at most four callers, each for at most 20 seconds
// (Visit).
//
// At most four lists are read concurrently, and one per namespace (Connection.ListSlot).
//
// # Nodes
//
// Only the Nodes of Machines are cached, with at most 4 KiB each (Node). A Machine requests its Node by provider ID. If
// the Node's name is known, the Node is read by name; otherwise all Nodes are listed in pages. One watch per cluster
// receives the changes. A Node that is not found by a list does not exist.
//
// Apart from probes and reads of Nodes, only callers send requests to a workload cluster.
//
// # Connections
//
// A connection is probed every 10 seconds (GET /). It is closed after five consecutive failures, or immediately on a
// 401 response or a changed kubeconfig. Attempts to reconnect follow after one second, with exponential backoff up to
// 30 seconds, and immediately when the Secret changes. A connection that is no longer needed is closed within one probe
// period.
//
// All clusters share one queue. In addition to the watches of connected clusters there are at most Options.MaxConcurrent
// goroutines. Clusters that answer are processed before clusters that do not. All goroutines have stopped when Run
// returns.
//
// # Security
//
// A tenant writes the kubeconfig Secret and runs the server that it names. Neither is trusted:
//
//   - No program is run and no file is read. Exec and auth-provider plugins and paths of certificates, keys and tokens
//     are rejected, also in unused entries. Proxies are rejected in the kubeconfig and ignored in the environment.
//   - Only verified https is used. The handshake fails for a server whose authority the tenant cannot name, for
//     example a service in the management cluster.
//   - Only addresses that [networks.Networks] allows are connected to. It checks each connection after name
//     resolution, including redirects. By default, loopback and link-local addresses, cloud metadata services, and the
//     Services, nodes and Pods of the management cluster are denied. If the management cluster is its own workload
//     cluster, --workload-networks must contain the address of its control plane.
//   - Only the credentials of the Secret are sent. This process adds none.
//   - A kubeconfig of more than 64 KiB is rejected before it is parsed. Responses are limited in time and size. Nodes
//     are read as a stream; at most one string of up to 256 KiB is in memory. The entries of a response to a caller are
//     counted before it is decoded.
//   - Parse errors do not quote the Secret.
package workload
