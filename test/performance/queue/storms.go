// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// restartStorm queues 100k keys low, and while 8 workers take 100 µs for each,
// one key high every millisecond; it measures how long those wait.
func restartStorm(implementation string) figures {
	const low, high, workers = 100_000, 1000, 8
	q := newQueue(implementation, false, false)
	for _, k := range keys("low-", low) {
		q.AddPriority(k, -1)
	}
	urgent := keys("high-", high)
	added := make(map[key]*time.Time, high)
	for _, k := range urgent {
		added[k] = new(time.Time)
	}
	var mu sync.Mutex
	var waits []time.Duration
	for range workers {
		go func() {
			for {
				k, shutdown := q.Get()
				if shutdown {
					return
				}
				if at, ok := added[k]; ok {
					wait := time.Since(*at)
					mu.Lock()
					waits = append(waits, wait)
					mu.Unlock()
				}
				spin(100 * time.Microsecond)
				q.Done(k)
			}
		}()
	}
	f := measured(high, func() {
		for _, k := range urgent {
			spin(time.Millisecond)
			*added[k] = time.Now()
			q.AddPriority(k, 100)
		}
		until("the urgent keys", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(waits) == high
		})
	})
	// The process ends now, and with it the workers; draining would take long.
	mu.Lock()
	defer mu.Unlock()
	f.percentiles("", waits)
	return f
}

// spin lets a time pass and others run. A sleep would be late by more than the
// times measured here.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

// delays adds 100k keys with delays up to a second and measures how late they
// are handed out to one worker.
func delays(implementation string) figures {
	const n = 100_000
	all := keys("delay-", n)
	r := rand.New(rand.NewPCG(1, 2))
	q := newQueue(implementation, false, false)
	due := make(map[key]*time.Time, n)
	for _, k := range all {
		due[k] = new(time.Time)
	}
	late := make([]time.Duration, 0, n)
	finished := make(chan struct{})
	f := measured(n, func() {
		go func() {
			defer close(finished)
			for range n {
				k, _ := q.Get()
				late = append(late, time.Since(*due[k]))
				q.Done(k)
			}
		}()
		for _, k := range all {
			d := 500*time.Millisecond + time.Duration(r.Int64N(int64(time.Second)))
			*due[k] = time.Now().Add(d)
			q.AddAfter(k, d)
		}
		<-finished
	})
	q.ShutDown()
	f.percentiles("", late)
	return f
}

// preloaded holds 1M keys when workers begin to get and finish them, and adds
// more: rate keys per second until the preloaded ones are gone, or at full speed
// if that is 0.
func preloaded(workers int64, rate int) workload {
	return func(implementation string) figures {
		const n, length = 1_000_000, 1500 * time.Millisecond
		q := newQueue(implementation, false, false)
		for _, k := range keys("pre-", n) {
			q.Add(k)
		}
		extra := keys("extra-", 2_000_000)
		q.Len()
		var gets atomic.Int64
		var stop atomic.Bool
		begin := make(chan struct{})
		for range workers {
			go func() {
				<-begin
				for !stop.Load() {
					k, shutdown := q.Get()
					if shutdown {
						return
					}
					gets.Add(1)
					q.Done(k)
				}
			}()
		}
		var took, nothing []time.Duration
		start := time.Now()
		f := measured(1, func() {
			close(begin)
			took, nothing = addFor(q, extra, rate, length, func() bool { return rate > 0 && gets.Load() >= n-workers })
		})
		wall := time.Since(start)
		n2 := float64(max(gets.Load(), 1))
		stop.Store(true)
		f["cpu-ns/get"] = f["cpu-ns/item"] / n2
		f["gets/s"] = n2 / wall.Seconds()
		f["adds/s"] = float64(len(took)) / wall.Seconds()
		f.percentiles("add-", took)
		f.percentiles("nothing-", nothing)
		return f
	}
}

// addFor adds keys for a time and returns how long each Add took, and how long
// nothing took in its place just before: what the machine adds to every figure.
// Between two adds at a rate it spins, so that its own waking is not measured.
func addFor(q queue, extra []key, rate int, length time.Duration, drained func() bool) (took, nothing []time.Duration) {
	took, nothing = touched(len(extra)), touched(len(extra))
	start := time.Now()
	for i, k := range extra {
		if rate > 0 {
			for at := start.Add(time.Duration(i) * time.Second / time.Duration(rate)); now().Before(at); {
			}
		}
		if time.Since(start) > length || drained() {
			break
		}
		before := now()
		begin := time.Now()
		q.Add(k)
		end := time.Now()
		nothing = append(nothing, begin.Sub(before))
		took = append(took, end.Sub(begin))
	}
	return took, nothing
}

// now is time.Now as a call: where the scheduler has asked for the processor it
// is given at the next call, which is this one, before the clock is read.
//
//go:noinline
func now() time.Time { return time.Now() }

// touched returns an empty slice of a capacity whose memory the kernel has
// already given: otherwise one append in 512 would wait for a page.
func touched(n int) []time.Duration {
	d := make([]time.Duration, n)
	for i := range d {
		d[i] = 1
	}
	return d[:0]
}

// starvation keeps one worker busy with high keys, always two of them queued,
// and measures how long a hundred low keys wait. After four seconds it gives up.
func starvation(implementation string) figures {
	const low, limit = 100, 4 * time.Second
	q := newQueue(implementation, false, true)
	start := time.Now()
	for _, k := range keys("low-", low) {
		q.AddPriority(k, -1)
	}
	high := keys("high-", 3)
	for _, k := range high {
		q.AddPriority(k, 100)
	}
	var waits []time.Duration
	for len(waits) < low && time.Since(start) < limit {
		k, _ := q.Get()
		if k.Name[0] == 'l' {
			waits = append(waits, time.Since(start))
		} else {
			q.AddPriority(k, 100)
		}
		q.Done(k)
	}
	f := figures{"served": float64(len(waits))}
	if len(waits) > 0 {
		f["first-s"], f["last-s"] = waits[0].Seconds(), waits[len(waits)-1].Seconds()
	}
	q.ShutDown()
	return f
}
