// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A worker repeatedly parks and is woken, while the test adds the only key and waits until the
// worker gets it. If an Add between the worker's last check and its parking were lost, both
// would wait forever.
func TestQueue_LosesNoAddWhileTheOnlyWorkerParks(t *testing.T) {
	const rounds = 50_000
	q := New[int]("")
	var version, seen atomic.Int64
	var working sync.WaitGroup
	working.Go(func() {
		for {
			key, shutdown := q.Get()
			if shutdown {
				return
			}
			seen.Store(version.Load())
			q.Done(key)
		}
	})
	for range rounds {
		v := version.Add(1)
		q.Add(0)
		waitFor(t, "the worker to see the add", func() bool { return seen.Load() >= v })
	}
	q.ShutDown()
	working.Wait()
}

// There are more workers than keys, so that an Add often finds a Get that was woken but has
// not returned yet.
func TestQueue_LosesNoAddWhileAWokenWorkerReturns(t *testing.T) {
	const adders, rounds, workers = 4, 2000, 16
	q := New[int]("")
	var seen [adders]atomic.Int64
	var version [adders]atomic.Int64
	var working, adding sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				seen[key].Store(version[key].Load())
				q.Done(key)
			}
		})
	}
	for key := range adders {
		adding.Go(func() {
			for range rounds {
				v := version[key].Add(1)
				q.Add(key)
				waitFor(t, "a worker to see the add", func() bool { return seen[key].Load() >= v })
			}
		})
	}
	adding.Wait()
	q.ShutDown()
	working.Wait()
}

// waitFor yields the processor until the condition is true. It panics after a minute.
func waitFor(t *testing.T, what string, condition func() bool) {
	for deadline := time.Now().Add(time.Minute); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			panic(t.Name() + ": waited a minute for " + what)
		}
	}
}
