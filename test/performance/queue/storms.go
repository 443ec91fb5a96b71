// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// restartStorm queues 100k keys with low priority. While 8 workers take 100 µs for each, it queues a key with high
// priority every millisecond, and measures how long those wait.
func restartStorm(implementation string) figures {
	const low, high, workers = 100_000, 1000, 8
	q := newQueue(implementation)
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
	f.percentiles(waits)
	return f
}

// spin waits for a time without sleeping, and yields to other goroutines. A sleep would be late by more than the
// measured times.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

// delays adds 100k keys with delays up to a second and measures how late one worker receives them.
func delays(implementation string) figures {
	const n = 100_000
	all := keys("delay-", n)
	r := rand.New(rand.NewPCG(1, 2))
	q := newQueue(implementation)
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
	f.percentiles(late)
	return f
}

// starvation keeps one worker busy with keys of high priority, of which two are always queued, and measures how long a
// hundred keys of low priority wait. It ends after four seconds.
func starvation(implementation string) figures {
	const low, limit = 100, 4 * time.Second
	q := newQueue(implementation)
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
		f["first-s"] = waits[0].Seconds()
	}
	q.ShutDown()
	return f
}
