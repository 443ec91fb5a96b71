// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance keeps a reserve of space in an etcd and takes snapshots of it, for the
// embedded member and for an etcd cluster alike. It uses nothing but etcd's client API.
//
// Guarantees:
//   - The space is that of the member with the least room. It is measured at most every 100 ms,
//     and every 10 ms near the quota, however many requests ask for it.
//   - A snapshot contains every write that was acknowledged before it began, and its checksum is
//     verified before it replaces an older one.
//   - Compacting, defragmenting and ending alarms is done for the embedded member only: the members
//     of an etcd cluster are maintained by those who run it.
package maintenance
