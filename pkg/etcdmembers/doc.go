// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdmembers makes the embedded etcds of replicas one cluster: founded once, joined
// as learners, replaced when a volume was lost, left when there are to be fewer.
//
// Guarantees:
//
//  1. A ConfigMap of the host cluster, the record, says whether the cluster is founded, its
//     ID, and its members. One replica founds it, who creates the record; nobody does while
//     the host cluster knows a store already. Nothing is written to a store that is not in
//     the record. Another one is founded in its place only when an administrator says, by
//     its ID, that it is lost, by a replica without data, and while no member answers or leads.
//  2. A replica with data goes on with it if the record names it as a member of that cluster.
//     One without, or whose member was removed, asks to join, in the record, and waits for an
//     answer of the leader. Its data of before is kept aside until it has joined.
//  3. The leader, and nobody else, adds, promotes and removes members, one step at a time and
//     never one that would cost the quorum: etcd itself refuses these. A new member counts
//     for the quorum when it has caught up, not before, and one that never comes is taken
//     out again when another one waits.
//  4. A member that has the name or the address of a replica which asks to join has lost its
//     data, and is replaced. A replica is told from the one before it by the ID of its
//     directory.
//  5. Start returns when the member is a full one and has a quorum. It waits for others as
//     long as that takes, and says for whom.
//  6. No port opens but that of the members, which is closed to all without a certificate of
//     package peertls. Who may write the record may join: the service account of the server.
package etcdmembers
