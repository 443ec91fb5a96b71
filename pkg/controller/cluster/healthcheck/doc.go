// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck looks after the health of Machines: it says in their conditions
// which are not well, and asks for those to be replaced.
//
// Guarantees:
//
//  1. What is said of a Machine is computed of it, its Cluster, its Node, the check and the
//     time alone. Nothing is polled: a pass comes back when a condition has lasted as long as
//     the check lets it.
//  2. A Node that cannot be asked for is not a Node that is gone: while a workload cluster is
//     not connected nothing is said of its Nodes.
//  3. Machines that are neither well nor not well count as not well when it is decided whether
//     any is replaced: more than the check allows are a fault of something else.
//  4. Of a Machine, the conditions HealthCheckSucceeded and ExternallyRemediated are written, and
//     OwnerRemediated where its owner has not begun, when they say something else only, and
//     never over what somebody else wrote meanwhile.
//  5. A request for remediation is made once, named as its Machine, and taken back when that is
//     well again.
//  6. Checks that select the same Machine write the same of it: that of the first one, by name,
//     which finds it unhealthy. Each has a Machine replaced only for what it finds itself.
package healthcheck
