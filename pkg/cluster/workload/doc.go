// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload keeps connections to workload clusters, the Kubernetes clusters whose
// nodes are Machines. A cluster is known by the namespace and name of its Cluster, and is
// reached by the kubeconfig in the Secret <name>-kubeconfig, key "value", beside it.
//
// Guarantees:
//
//  1. No caller waits. Connection and Probe answer from memory; without a connection the
//     answer is ErrNotConnected, and one is asked for. The first failed probe makes requests
//     of callers fail at once instead of waiting for a cluster that is silent. One that answers,
//     but slowly, keeps at most four callers, each for twenty seconds (Visit).
//  2. Of a cluster only the Nodes of Machines are kept, 4 KiB of each (Node). A Machine asks for
//     its Node by provider ID. A Node whose name it knows is read by that, others in a list of
//     pages; one watch follows the changes. A Node that was read and is not there does not exist.
//  3. A connection is probed every ten seconds (GET /), and given up after five failures in
//     a row, or at once when it is refused with 401 or the kubeconfig is another. Another
//     is tried after one second, then two, up to every thirty seconds, and at once when the
//     Secret changes.
//  4. One queue holds every cluster until it is due. Besides the watches of clusters that
//     are connected there are never more goroutines than Options.Places, and clusters that
//     answer go before those that do not. When Run has returned none is left.
//  5. A cluster that nobody wants any more is let go within one period.
//  6. Beyond probes and the reading of Nodes nothing is asked of a workload cluster but by a caller.
//  7. At most four lists are read at once, and one for each namespace (Connection.ListSlot).
//
// # Who writes the Secret
//
// A tenant writes it, and runs the server that it names. Neither is trusted:
//
//   - No program is run and no file is read: exec and auth-provider plugins, paths of
//     certificates, keys and tokens are refused, also in parts that are not used. So are
//     proxies, there and in the environment of this process.
//   - Only https with verification: what the tenant cannot name the authority of, for
//     example a service inside the host cluster, ends in the handshake.
//   - Only addresses that [networks.Networks] lets the server connect to, asked for each
//     connection after names were resolved, and for redirects too. By default loopback,
//     link-local addresses, the metadata services of clouds, and Services, nodes and Pods of
//     the management cluster are denied. A management cluster that is its own workload
//     cluster is reached by the address of its control plane, which --workload-networks names.
//   - Only the credentials of the Secret are sent; this process adds none of its own.
//   - A kubeconfig of more than 64 KiB is refused before it is parsed. Answers are bounded in time
//     and size. Nodes are read as a stream, of which one text of at most 256 KiB is in memory; of
//     an answer to a caller the entries are counted before it is decoded.
//   - Errors of parsing do not quote the Secret.
package workload
