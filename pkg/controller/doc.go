// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller contains the parts that all controllers are built from. A Builder assembles a controller from
// them:
//
// Loop and Controller run workers, which take keys from a priority queue and reconcile them.
//
// Enqueuer turns events into keys.
//
// Store reads the latest version of an object, including this process's own writes.
//
// Echoes recognizes the updates that this process's own status writes cause.
//
// Shard divides objects among replicas.
//
// The delays that controllers share are in delays.go.
//
// The package guarantees:
//
//  1. A key is reconciled by one worker at a time.
//  2. Errors are logged once, by Controller, and the key is queued again with backoff.
//     Conflicts are no exception: a reconciler that expects a conflict must handle it and
//     not return it.
//  3. Done is called for a key even if Reconcile panics, and the worker continues.
//  4. Priority, if set, is evaluated each time that a key is queued again.
//  5. Run returns only after all workers have ended. Keys that are queued at that time
//     are not reconciled.
//  6. A reconcile that reads from a Store sees everything that earlier reconciles of this
//     process wrote, even if the informer is behind. If an informer has not received a
//     created object within a minute, reads no longer keep it in the Store.
//  7. An update is ignored as an echo only if the whole object matches this process's
//     write: UID, generation, deletion, labels, annotations, finalizers, owners and status.
//  8. The keys of the initial list never have priority over changes that users make during it.
//     Every object is queued once per resync period, and the keys are spread over the period.
//
// The package contains nothing specific to a kind.
package controller
