// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity prevents a server from serving another store than the one that the management
// cluster knows, for example an empty one on a volume that was not mounted, or an older one: the
// garbage collector of the management cluster would delete the dependents of objects that are not in it.
// It also makes the controllers wait after a restore. Both hold for every etcd, embedded or not.
//
// Guarantees:
//   - A store has a random ID, written once. A ConfigMap of the management cluster has that ID, the ID of
//     the etcd cluster and the revision at the last comparison: at the start, once a minute, and at a
//     clean stop. A write to the store causes no write there.
//   - Requests for objects get 503 with Retry-After until both were compared, and while the ID differs or
//     the revision is lower. An administrator accepts such a store by its ID, once, by an annotation.
//   - A store that was accepted, whose revision jumped, or whose etcd cluster is another one, is held: the
//     API is served and the controllers wait. That is written into the store before the ConfigMap changes,
//     and only Release removes it.
//   - While a store is served it is read every two seconds. If it does not continue the store that the
//     process has served, the gate closes, and the process must end. A store that was replaced during
//     a shorter outage may be served until then: stop the servers before a restore.
//   - A store or a ConfigMap that cannot be read is not missing: an open gate stays open.
package identity
