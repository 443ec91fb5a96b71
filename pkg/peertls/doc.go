// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peertls lets the members of the embedded etcd know each other.
//
// Guarantees:
//   - There is one authority for all (package authority), and nothing else has certificates
//     of it. A member trusts what was trusted at its start.
//   - Each member makes its certificate by itself, at its start and when a third of its time
//     has passed; etcd reads it for each new connection.
//   - Key and certificate are in one file that is replaced at once, for its owner only.
package peertls
