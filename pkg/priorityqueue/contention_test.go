// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// One worker parks and is woken all the time while another adds the one key that
// it works on, and waits for it. An Add that fell between the worker's last look
// and its parking would stay behind, and both would wait for ever.
func TestNoAddIsLostWhileTheOnlyWorkerParks(t *testing.T) {
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

// The same with more workers than keys, so that a woken Get is often on its way
// when an Add looks for one.
func TestNoAddIsLostWhileAWokenWorkerIsOnItsWay(t *testing.T) {
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

// waitFor gives others the processor until the condition holds, and ends the
// test of everybody if that takes a minute.
func waitFor(t *testing.T, what string, condition func() bool) {
	for deadline := time.Now().Add(time.Minute); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			panic(t.Name() + ": waited a minute for " + what)
		}
	}
}

func TestAnAddLeavesTheLockToAHerdThatWaitsForIt(t *testing.T) {
	q := New[string]("")
	q.waiting.Add(herd)
	q.Add("a")
	want(t, "adds left to few workers", q.pending.count.Load(), int32(0))
	q.waiting.Add(1)
	q.Add("b")
	q.AddWithOpts(AddOpts{Priority: 1}, "c")
	want(t, "adds left", q.pending.count.Load(), int32(2))
	q.waiting.Add(-herd - 1)
	want(t, "keys", handOuts(q), []string{"c", "a", "b"})
}

func TestAProducerThatOutrunsTheWorkersWaitsAmongThem(t *testing.T) {
	q := New[int]("")
	q.mu.Lock()
	for key := range maxPending {
		q.Add(key)
	}
	var adding sync.WaitGroup
	adding.Go(func() { q.Add(maxPending) })
	waitFor(t, "the producer to wait", func() bool { return q.waiting.Load() == 1 })
	want(t, "adds left", q.pending.count.Load(), int32(maxPending))
	q.mu.Unlock()
	adding.Wait()
	want(t, "keys", q.Len(), maxPending+1)
}

// addWhileLocked makes the next call that takes the time under the lock find
// that somebody adds a key right then.
func addWhileLocked(q *Queue[string], key string) {
	q.timed = true
	now, done := q.now, false
	q.now = func() int64 {
		if !done {
			done = true
			q.Add(key)
		}
		return now()
	}
}

// parkedGet starts a Get, returns when it is parked, and sends its key.
func parkedGet(q *Queue[string]) <-chan string {
	got := make(chan string, 1)
	go func() {
		key, _ := q.Get()
		got <- key
	}()
	synctest.Wait()
	return got
}

// In these three, an Add that is forgotten leaves all goroutines of the bubble
// blocked, which fails the test.
func TestAnAddThatIsLeftWhileAGetParksIsHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		addWhileLocked(q, "a")
		want(t, "key", <-parkedGet(q), "a")
	})
}

func TestAnAddThatIsLeftToTheHolderWakesAParkedGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		got := parkedGet(q)
		addWhileLocked(q, "a")
		q.Done("not in process")
		want(t, "key", <-got, "a")
	})
}

func TestAnAddThatIsLeftToAWokenGetWakesAParkedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		got := parkedGet(q)
		q.park.waking.Store(true)
		q.waiting.Add(herd + 1)
		q.Add("a")
		q.waiting.Add(-herd - 1)
		synctest.Wait()
		want(t, "Gets that were woken beside the one on its way", len(got), 0)
		q.passOn()
		want(t, "key", <-got, "a")
	})
}

// Whoever gives the lock back serves what was left meanwhile, and others leave adds
// all the while. An Add that had to wait for the lock would wait for itself here.
func TestAnAddDoesNotWaitForACallThatServesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		q.Add("a")
		q.Get()
		got := parkedGet(q)
		q.timed = true
		now, adds, adding := q.now, 0, false
		q.now = func() int64 {
			if adds < 100 && !adding {
				adds++
				adding = true
				q.Add("a")
				adding = false
			}
			return now()
		}
		q.Add("a")
		synctest.Wait()
		want(t, "adds", adds, 100)
		q.Done("a")
		want(t, "key", <-got, "a")
	})
}

// A delay that ends after an Add, but before anybody applies it, does not put
// its key first.
func TestAnAddThatIsLeftKeepsTheTimeOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		q.AddAfter("delayed", 10*time.Millisecond)
		q.mu.Lock()
		q.Add("left")
		<-time.After(20 * time.Millisecond)
		q.mu.Unlock()
		want(t, "keys", handOuts(q), []string{"left", "delayed"})
	})
}

func TestAQueueWithoutMetricsAndAgingTellsNoTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		q.AddAfter("delayed", time.Hour)
		q.Add("a")
		q.Add("b")
		q.Get()
		<-time.After(time.Minute)
		s := q.Snapshot()
		want(t, "seconds of the oldest key", s.Levels[0].OldestSeconds, 0.0)
		want(t, "seconds of the held key", s.Held[0].Seconds, 0.0)
	})
}
