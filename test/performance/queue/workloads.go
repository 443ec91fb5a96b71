// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// fillDrain adds n keys of some priorities, then gets and finishes them all; it does so
// cycles times.
func fillDrain(n, cycles, priorities int) workload {
	return func(implementation string) figures {
		all := keys("fill-", n)
		q := newQueue(implementation)
		defer q.ShutDown()
		return measured(n*cycles, func() {
			for range cycles {
				for i, k := range all {
					q.AddPriority(k, i%priorities)
				}
				for range n {
					k, _ := q.Get()
					q.Done(k)
				}
			}
		})
	}
}

// steady adds, gets and finishes one key after the other.
func steady(implementation string) figures {
	all := keys("steady-", 1000)
	q := newQueue(implementation)
	defer q.ShutDown()
	loop := func(n int) {
		for i := range n {
			q.Add(all[i%len(all)])
			k, _ := q.Get()
			q.Done(k)
		}
	}
	loop(10_000)
	const n = 300_000
	return measured(n, func() { loop(n) })
}

// throughput adds n keys at full speed while workers get and finish them.
func throughput(workers int) workload {
	return func(implementation string) figures {
		const n = 400_000
		all := keys("through-", n)
		q := newQueue(implementation)
		var done atomic.Int64
		var wg sync.WaitGroup
		finished := make(chan struct{})
		for range workers {
			wg.Go(func() {
				for {
					k, shutdown := q.Get()
					if shutdown {
						return
					}
					q.Done(k)
					if done.Add(1) == n {
						close(finished)
					}
				}
			})
		}
		settle()
		f := measured(n, func() {
			for _, k := range all {
				q.Add(k)
			}
			<-finished
		})
		q.ShutDown()
		wg.Wait()
		return f
	}
}

// settle gives the workers time to block in Get.
func settle() {
	runtime.Gosched()
	<-time.After(50 * time.Millisecond)
}

// wakeUp measures the time from an Add to the return of a blocked Get.
func wakeUp(workers int) workload {
	return func(implementation string) figures {
		q := newQueue(implementation)
		type woken struct{ at time.Time }
		got := make(chan woken)
		for range workers {
			go func() {
				for {
					k, shutdown := q.Get()
					if shutdown {
						return
					}
					at := time.Now()
					q.Done(k)
					got <- woken{at}
				}
			}()
		}
		settle()
		const n = 30_000
		all := keys("wake-", 100)
		waits := make([]time.Duration, 0, n)
		f := measured(n, func() {
			for i := range n {
				// The woken worker first calls Get again.
				runtime.Gosched()
				runtime.Gosched()
				start := time.Now()
				q.Add(all[i%len(all)])
				waits = append(waits, (<-got).at.Sub(start))
			}
		})
		q.ShutDown()
		f.percentiles(waits)
		return f
	}
}

// raise adds 100k keys repeatedly, each time with a higher priority.
func raise(implementation string) figures {
	const n, rounds = 100_000, 10
	all := keys("raise-", n)
	q := newQueue(implementation)
	defer q.ShutDown()
	for _, k := range all {
		q.Add(k)
	}
	q.Len()
	return measured(n*rounds, func() {
		for r := range rounds {
			for _, k := range all {
				q.AddPriority(k, r+1)
			}
		}
		q.Len()
	})
}

// busyInFront hands out keys while a thousand keys in process are queued again
// ahead of them.
func busyInFront(implementation string) figures {
	const busy, n = 1000, 20_000
	q := newQueue(implementation)
	defer q.ShutDown()
	held := keys("busy-", busy)
	for _, k := range held {
		q.Add(k)
		q.Get()
	}
	for _, k := range held {
		q.Add(k)
	}
	all := keys("free-", 1000)
	return measured(n, func() {
		for i := range n {
			q.Add(all[i%len(all)])
			k, _ := q.Get()
			q.Done(k)
		}
	})
}

// held measures the heap bytes per queued key without those of the key itself, the bytes
// that a drained queue keeps of them, and the goroutines of the queue.
func held(implementation string) figures {
	const n = 100_000
	all := keys("held-", n)
	goroutines := runtime.NumGoroutine()
	q := newQueue(implementation)
	defer q.ShutDown()
	settle()
	goroutines = runtime.NumGoroutine() - goroutines
	before := heap()
	for _, k := range all {
		q.Add(k)
	}
	q.Len()
	full := heap()
	for range n {
		k, _ := q.Get()
		q.Done(k)
	}
	empty := heap()
	runtime.KeepAlive(all)
	return figures{
		"held-bytes/key": (full - before) / n, "kept-bytes/key": (empty - before) / n, "goroutines": float64(goroutines),
	}
}
