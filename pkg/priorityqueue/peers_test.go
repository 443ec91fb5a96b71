// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// This file has one test for each documented defect of other queues. The references in comments are issues and pull
// requests: CR is kubernetes-sigs/controller-runtime, k8s is kubernetes/kubernetes.

// handOuts gets and finishes all ready keys and returns them in order.
func handOuts[K comparable](q *Queue[K]) []K {
	var keys []K
	for q.Len() > 0 {
		key, _ := q.Get()
		q.Done(key)
		keys = append(keys, key)
	}
	return keys
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// CR v0.25.2: a second ShutDown panics. CR #3239, #3250, #3337, #3538: Get hangs
// or deadlocks at shutdown.
func TestShutDown_CanBeCalledRepeatedlyAndConcurrently(t *testing.T) {
	for range 200 {
		q := New[int]("")
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for {
					key, shutdown := q.Get()
					if shutdown {
						return
					}
					q.Done(key)
				}
			})
			all.Go(func() { q.Add(i); q.AddAfter(i, time.Hour) })
			all.Go(q.ShutDown)
			all.Go(q.ShutDownWithDrain)
		}
		all.Wait()
		want(t, "keys left", q.Len(), 0)
	}
}

// CR v0.25.2: AddWithOpts retains its options and keys, so a caller that
// changes them changes the queue.
func TestAddWithOpts_CopiesItsArguments(t *testing.T) {
	q := New[string]("")
	o := AddOpts{Priority: 5}
	keys := []string{"foo"}
	q.AddWithOpts(o, keys...)
	keys[0], o.Priority = "x", -7
	key, priority, _ := q.GetWithPriority()
	want(t, "key", key, "foo")
	want(t, "priority", priority, 5)
}

// CR v0.25.2: NumRequeues after AddRateLimited is 0, and a Forget right after it
// leaves a failure behind permanently.
func TestAddRateLimited_CallsTheRateLimiterBeforeItReturns(t *testing.T) {
	q := New[string]("")
	q.AddRateLimited("a")
	want(t, "requeues", q.NumRequeues("a"), 1)
	q.Forget("a")
	want(t, "requeues after Forget", q.NumRequeues("a"), 0)
}

// CR v0.25.2: ShutDownWithDrain drops all keys. k8s PR 141079: client-go's
// ShutDownWithDrain returns before all keys are handed out.
func TestShutDownWithDrain_HandsOutReadyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int]("")
		for i := range 3 {
			q.Add(i)
		}
		done := 0
		go func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				<-time.After(time.Second)
				done++
				q.Done(key)
			}
		}()
		q.ShutDownWithDrain()
		want(t, "keys done when ShutDownWithDrain returned", done, 3)
	})
}

// k8s PR 141079: an extra Done causes two concurrent runs of a key.
func TestDone_IgnoresKeysThatAreNotInProcess(t *testing.T) {
	q := New[string]("")
	q.Add("a")
	q.Done("a")
	want(t, "keys", handOuts(q), []string{"a"})
	q.Done("a")
	want(t, "keys", handOuts(q), []string(nil))
}

// CR v0.25.2: every hand-out walks the keys in process that are queued again.
// Here they are not in the heap of keys to hand out.
func TestGet_DoesNotIterateOverKeysInProcess(t *testing.T) {
	q := New[int]("")
	for key := range 1000 {
		q.Add(key)
		q.Get()
		q.Add(key)
	}
	q.Add(1000)
	key, _ := q.Get()
	want(t, "key", key, 1000)
	want(t, "active levels while all keys are in process", len(q.core.active), 0)
	for key := 999; key >= 0; key-- {
		q.Done(key)
	}
	for i := range 1000 {
		if key, _ := q.Get(); key != i {
			t.Fatalf("handed out %d, want %d, the order of the adds", key, i)
		}
	}
}

// CR v0.25.2: hand-outs wait until the adds of producers at full speed are applied.
func TestGet_IsNotDelayedByProducersAtFullSpeed(t *testing.T) {
	q := New[int]("")
	var stop atomic.Bool
	var producers sync.WaitGroup
	for p := range 8 {
		producers.Go(func() {
			for i := p; !stop.Load(); i += 64 {
				q.Add(i % 10_000)
			}
		})
	}
	for range 2000 {
		key, _ := q.Get()
		q.Done(key)
	}
	stop.Store(true)
	producers.Wait()
}

// CR v0.25.2: a delay starts when a goroutine handles it, not with the call.
func TestAddAfter_StartsTheDelayWithTheCall(t *testing.T) {
	called := make(chan struct{})
	q := New("", WithFairness(func(string) string {
		close(called)
		return ""
	}))
	q.mu.Lock()
	var adding sync.WaitGroup
	adding.Go(func() { q.AddAfter("a", 50*time.Millisecond) })
	<-called
	q.start = q.start.Add(-60 * time.Millisecond) // 60 ms pass.
	q.mu.Unlock()
	adding.Wait()
	want(t, "ready keys", q.Len(), 1)
}

// CR #3396, #3419: a series for each priority ever used; v0.25.2: wrong depths
// after the 26th.
func TestDepth_IsCorrectWithManyPriorities(t *testing.T) {
	q := New[int]("")
	for round := range 2 {
		for i := range 100 {
			q.AddWithOpts(AddOpts{Priority: i}, i)
		}
		r := q.Stats()
		want(t, "number of series", len(r.Priorities), statPriorities+1)
		want(t, "depth of priority 3", r.Priorities["3"].Depth, 1)
		want(t, "depth of the others", r.Priorities[OtherPriorities].Depth, 100-statPriorities)
		handOuts(q)
		r = q.Stats()
		for name, p := range r.Priorities {
			want(t, fmt.Sprintf("depth of %s after drain %d", name, round), p.Depth, 0)
		}
	}
}

// CR #3060 and others: negative depths, and a panic from changes during a walk.
func TestDepth_IsCorrectAfterRaisesAndRemovals(t *testing.T) {
	q := New[string]("")
	depths := func() map[string]int {
		r := q.Stats()
		d := map[string]int{}
		for name, p := range r.Priorities {
			if p.Depth != 0 {
				d[name] = p.Depth
			}
		}
		return d
	}
	q.Add("a")
	q.Get()
	q.Add("a")
	want(t, "in process and queued again", depths(), map[string]int{"0": 1})
	q.AddWithOpts(AddOpts{Priority: 7}, "a")
	want(t, "raised", depths(), map[string]int{"7": 1})
	q.Remove("a")
	want(t, "removed", depths(), map[string]int{})
	q.Done("a")
	want(t, "done", depths(), map[string]int{})
}

// CR #3330, #3363: a key whose delay has ended is sorted behind lower ones, or
// the wrong key is returned. CR #3408: a raised key keeps its old position.
func TestOrder_IsCorrectAfterADelayOrARaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		q.AddWithOpts(AddOpts{Priority: 1, After: time.Second}, "delayed")
		q.AddWithOpts(AddOpts{Priority: -1}, "low", "raised")
		q.AddWithOpts(AddOpts{Priority: 1}, "first")
		<-time.After(time.Second)
		q.AddWithOpts(AddOpts{Priority: 1}, "raised")
		want(t, "keys", handOuts(q), []string{"first", "delayed", "raised", "low"})
	})
}

// k8s #126027: an add with delay and one without are two runs.
func TestAdd_MergesDelayedAndImmediateAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("")
		q.AddAfter("a", time.Second)
		q.Add("a")
		want(t, "keys", handOuts(q), []string{"a"})
		<-time.After(time.Minute)
		want(t, "keys after a minute", handOuts(q), []string(nil))
	})
}

// CR #3496, miroir #122: low priorities starve permanently under a steady load.
func TestAging_ServesLowPrioritiesUnderFullLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("", WithAging[string](Aging{}))
		start := time.Now()
		for i := range 20 {
			q.AddWithOpts(AddOpts{Priority: -1}, "low"+strconv.Itoa(i))
		}
		q.AddWithOpts(AddOpts{Priority: 1}, "high", "high too")
		served := 0
		for range 600 {
			key, priority, _ := q.GetWithPriority()
			<-time.After(10 * time.Millisecond)
			if priority == 1 {
				q.AddWithOpts(AddOpts{Priority: 1}, key)
			} else if served++; served == 1 {
				want(t, "first hand-out", time.Since(start).Round(100*time.Millisecond), DefaultAgingAfter)
			}
			q.Done(key)
		}
		want(t, "low keys served", served, 20)
	})
}

// knative #3253: two lanes have a wrong depth and hand a key out twice.
func TestAdd_MergesPriorities(t *testing.T) {
	q := New[string]("")
	q.AddWithOpts(AddOpts{Priority: -1}, "a")
	q.Add("a")
	want(t, "Len", q.Len(), 1)
	want(t, "keys", handOuts(q), []string{"a"})
}

// k8s #25744 and others: one tenant's keys delay the keys of all tenants.
func TestFairness_DelaysOtherGroupsByOneKey(t *testing.T) {
	q := New("", WithFairness(func(key [2]string) string { return key[0] }))
	for i := range 10_000 {
		q.Add([2]string{"big", strconv.Itoa(i)})
	}
	q.Add([2]string{"small", "0"})
	q.Get()
	key, _ := q.Get()
	want(t, "second key", key, [2]string{"small", "0"})
}

// A delay that exceeds the range of the clock does not become a short delay.
func TestAddAfter_AcceptsVeryLongDelays(t *testing.T) {
	q := New("", WithRateLimiter[string](endless{}))
	q.AddAfter("a", math.MaxInt64)
	q.AddRateLimited("b")
	want(t, "Len", q.Len(), 0)
}

type endless struct {
	workqueue.TypedRateLimiter[string]
}

func (endless) When(string) time.Duration { return math.MaxInt64 }
