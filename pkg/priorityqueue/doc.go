// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package priorityqueue is a workqueue for controllers that hands out keys by
// priority. It has the methods of client-go's rate-limited workqueue, and with
// equal priorities it hands out in the same order, but for keys that are added
// while in process: see 3.
//
// What it guarantees:
//
//  1. Order. Of the ready keys the one with the highest priority is handed out
//     first; of equal ones, the one that became ready first. Aging and fairness,
//     both options, are the only exceptions.
//  2. One entry. A key is queued at most once. Adding it again keeps the higher
//     priority and the earlier ready time; no add lowers a priority. A key that
//     is raised goes to the end of its new priority.
//  3. One worker. A key in process is not handed out again before its Done. If
//     it is added meanwhile it takes its place in the order at that Add, counts
//     in Len at once, and is handed out after Done, before keys of its priority
//     that were added later.
//  4. Visibility. An Add that has returned is seen by the next Get and Len. It
//     does not wait for a Get or Done: where the lock is taken, or many calls
//     wait for it, the key is left to the next that has it, with the time of the
//     Add. Only with 512 adds left so does the next Add wait for the lock. The
//     other side: any call, an Add too, first applies what was left, and where
//     Gets wait it applies up to four times what is left meanwhile before a
//     goroutine takes over.
//  5. Delays count from the call. When the delay has passed, the key takes its
//     place in the order, whether a Get was waiting or not: ahead of lower
//     priorities, and of keys that became ready later. The first call after the
//     ends of many delays puts all those keys in their places. A negative delay
//     is none. An add without delay makes a delayed key ready. Keys that one call
//     adds with rate limit each get their own delay, and the rate limiter has been
//     asked when the call returns.
//  6. Done of a key that is not in process changes nothing.
//  7. Waking. An Add wakes at most one waiting Get and hands it the key. While
//     that Get is on its way to run, it wakes the next one itself.
//  8. Shutdown, in any number and order, drops delayed keys and ignores adds.
//     Ready keys are still handed out. ShutDownWithDrain returns when they have
//     been and Done was called for all.
//  9. Aging. With it, a level of ready keys that gets nothing for the bound is
//     served at least once in sixteen hand-outs from then on; see Aging.
//  10. Fairness. With it, groups of keys of one priority take turns, one key
//     each; within a group, order is as without. A group has turns while it has
//     a ready key that is not in process. Yield ends a turn without a key.
//  11. Cost. Adding, handing out, finishing and removing take constant time, but
//     for heaps: of the priorities that have keys, of the delayed keys, and of
//     keys that were added while in process. In steady state nothing is allocated.
//     An idle queue has no goroutine; a timer is set only when a Get waits and a
//     key is delayed.
//  12. Memory. It follows the number of keys, down too: a block of 256 keys is
//     given back with the last of them, and so are groups and priorities beyond
//     the first 128; about a megabyte stays. What a caller passes in is not kept
//     beyond the keys.
//  13. Functions of the caller (rate limiter, Aging.Applies, the group) run without
//     the lock: they may panic, or call the queue.
//
// The core (core.go, levels.go, aging.go and what they use) has no lock, starts
// no goroutine and reads no clock. The shell adds one mutex and what is left to its
// holder (pending.go, serve.go), the waiting Gets (parking.go) and one timer
// (alarm.go). Package exposition shows queues to people and to Prometheus.
package priorityqueue
