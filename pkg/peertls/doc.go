// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peertls lets the members of the embedded etcd know each other.
//
// Guarantees:
//   - There is one authority for all, in a Secret of the host cluster, made by who comes
//     first. Nothing else has certificates of it.
//   - Each member makes its certificate by itself, at its start and when a third of its time
//     has passed; etcd reads it for each new connection.
//   - What the Secret has in ca.crt is trusted, and tls.crt, which is among it, issues: both
//     the old and the new authority are trusted while all members change from one to the
//     other. A member trusts what was in ca.crt at its start.
//   - Key and certificate are in one file that is replaced at once, for its owner only.
package peertls
