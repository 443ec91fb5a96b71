// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity keeps a server from serving another store than the one that the
// host cluster knows, for example an empty one on a volume that was not mounted, or an
// older one: the host cluster's garbage collector would delete what belongs to objects
// that are not in it, for ever.
//
// Guarantees:
//   - A store has a random ID, written once. A ConfigMap of the host cluster has that ID
//     and the revision that the store had at the last comparison: at the start, once a
//     minute, and at a clean stop. Nothing is written there for a write to the store.
//   - In between a server looks every two seconds whether its store is still the one that it
//     serves, and no older. Once it is not, nothing is served, the host cluster is told how
//     far the store had been seen, and the server is told to end.
//   - Requests for objects get 503 with Retry-After until both were compared, and while
//     they differ or the store is behind. What could not be read is not taken for missing.
//   - What is served once is served on while the host cluster is away. A server whose store
//     is not the known one any more is told to end.
//   - An administrator accepts another store by its ID, once, by an annotation.
package identity
