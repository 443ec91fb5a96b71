// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package priorityqueue is a workqueue for controllers that hands out keys by
// priority. It has the methods of client-go's rate-limited workqueue. If all priorities
// are equal, the order is that of client-go's queue, except for keys that are added
// while they are in process; see guarantee 3.
//
// Guarantees:
//
//  1. Order. The ready key with the highest priority is handed out first; of equal
//     priorities, the key that became ready first. Only aging and fairness, which are
//     options, change this order.
//  2. One entry. A key is queued at most once. Adding it again keeps the higher
//     priority and the earlier ready time. A key whose priority is raised goes to the
//     end of its new priority.
//  3. One worker. A key in process is not handed out again before Done. If it is added
//     in the meantime, it gets its position in the order at that Add and counts in Len
//     immediately. After Done it is handed out at that position.
//  4. Visibility. The next Get and Len see the key of an Add that has returned.
//  5. Delays start with the call. After the delay, the key gets its position in the
//     order: before lower priorities, and before keys that became ready later. A
//     negative delay is no delay. Adding a delayed key without a delay makes it ready.
//  6. Waiting. An Add hands its key to at most one waiting Get and wakes only that.
//  7. Shutdown drops delayed keys and ignores adds. Ready keys are still handed out.
//     ShutDownWithDrain returns when all of them are done.
//  8. Aging is an option that limits how long low priorities can starve; see Aging.
//  9. Fairness is an option that divides the keys of one priority into groups. The
//     groups that have a ready key which is not in process take turns, one key each.
//     Yield ends a turn without a hand-out.
//  10. Cost. A map look-up finds the key, and heaps give the order. An idle queue has no
//     goroutine; a timer runs only for delayed keys while a Get waits. Memory is
//     released when the number of keys decreases.
//  11. Functions of the caller (rate limiter and group) run without the lock: they can
//     panic or call the queue.
//
// Queue is the central type. Its core (core.go, levels.go, aging.go) has no lock, reads
// no clock and starts no goroutine; tests compare it with a model. Queue adds a mutex,
// the Gets that wait, and the timer. Package exposition serves snapshots of queues and
// their metrics.
package priorityqueue
