// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the loop that every controller runs: workers take keys
// from a priority workqueue, reconcile them and queue them again as the result
// says.
//
// What it guarantees:
//
//  1. A key is reconciled by one worker at a time.
//  2. An error is logged once, here, and the key comes back with the rate
//     limiter's delay. Conflicts are errors like others: who expects them reads
//     again instead of returning them.
//  3. Whatever Reconcile does, panic included, Done is called for its key, and
//     the worker goes on.
//  4. Priority, if given, is evaluated anew for every re-queue.
//  5. Run returns only after all workers have ended; keys still queued at that
//     time are not reconciled.
package controller
