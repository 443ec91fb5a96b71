// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance keeps a space reserve in etcd and takes snapshots. It supports the embedded member and etcd clusters through
// etcd's client API.
//
// Guarantees:
//   - The space is that of the member with the least free space. It is measured at most every 100 ms, and every 10 ms near the
//     quota, independent of the number of requests.
//   - A snapshot contains every write that was acknowledged before it began, and its checksum is
//     verified before it replaces an older one.
//   - Only the embedded member is compacted and defragmented, and only its alarms are disarmed. The operators of an etcd cluster
//     maintain its members.
package maintenance
