// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is what every controller runs: a loop whose workers take keys from
// a priority workqueue, reconcile them and queue them again as the result says, and
// around it what turns events into keys (Enqueuer), reads what was written last (Store)
// and knows the updates that our own writes make (Echoes). A Builder assembles these parts
// to a controller. A Shard divides objects among replicas. The delays that controllers have
// in common are in delays.go.
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
//  6. A pass that reads from a Store sees what every earlier pass of this process has
//     written, however far the informer is behind. What an informer has not heard of for
//     a minute is not kept alive by reading it.
//  7. An update is left out as an echo only if all of it is as this process wrote it:
//     object, generation, deletion, labels, annotations, finalizers, owners and status.
//  8. The initial list never goes before what a user does meanwhile, and every object
//     is queued once per resync period, spread over it.
//
// It knows no kind: what is particular to one is handed in as a function.
package controller
