// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// The test adds and finishes keys at random on both queues and compares the hand-outs. Keys
// in process are added again only immediately before their Done, because client-go's queue
// orders them by Done and this queue by Add.
func TestOrder_IsThatOfClientGoWithEqualPriorities(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		ours, theirs := New[int](""), workqueue.NewTyped[int]()
		var held []int
		for range 2000 {
			switch op := r.IntN(5); {
			case op < 2:
				key := r.IntN(100)
				for _, h := range held {
					if h == key {
						key = -1
					}
				}
				if key >= 0 {
					ours.Add(key)
					theirs.Add(key)
				}
			case op == 2 && theirs.Len() > 0:
				a, _ := ours.Get()
				b, _ := theirs.Get()
				if a != b {
					t.Fatalf("seed %d: this queue hands out %d, client-go's queue %d", seed, a, b)
				}
				held = append(held, a)
			case len(held) > 0:
				i := r.IntN(len(held))
				if op == 3 {
					ours.Add(held[i])
					theirs.Add(held[i])
				}
				ours.Done(held[i])
				theirs.Done(held[i])
				held = append(held[:i], held[i+1:]...)
			}
		}
		theirs.ShutDown()
	}
}

// A thousand workers and many producers: no two workers have the same key, and
// a worker sees the state at the last Add of each key.
func TestQueue_ServesAThousandWorkers(t *testing.T) {
	const workers, producers, keys, adds = 1000, 8, 200, 2000
	for name, options := range map[string][]Option[int]{
		"plain": nil,
		"all options": {WithAging[int](Aging{After: time.Millisecond}),
			WithFairness(func(key int) string { return string(rune('a' + key%5)) })},
	} {
		t.Run(name, func(t *testing.T) {
			q := New("", options...)
			var version, seen [keys]atomic.Int64
			var held [keys]atomic.Bool
			var working, producing sync.WaitGroup
			for range workers {
				working.Go(func() {
					for {
						key, shutdown := q.Get()
						if shutdown {
							return
						}
						if held[key].Swap(true) {
							t.Errorf("two workers have key %d", key)
						}
						seen[key].Store(version[key].Load())
						held[key].Store(false)
						q.Done(key)
					}
				})
			}
			for p := range producers {
				producing.Go(func() {
					r := rand.New(rand.NewPCG(uint64(p), 1))
					for range adds {
						key := r.IntN(keys)
						version[key].Add(1)
						o := AddOpts{Priority: r.IntN(3)}
						if r.IntN(10) == 0 {
							o.After = time.Duration(r.IntN(1000)) * time.Microsecond
						}
						q.AddWithOpts(o, key)
					}
				})
			}
			producing.Wait()
			for key := range keys {
				q.Add(key) // for keys whose last add was delayed, which shutdown drops
			}
			q.ShutDownWithDrain()
			working.Wait()
			for key := range keys {
				if s, v := seen[key].Load(), version[key].Load(); s != v {
					t.Errorf("key %d: workers saw version %d of %d", key, s, v)
				}
			}
		})
	}
}

// Many goroutines call Add and wait for the lock. Each key is queued when its Add returns.
func TestAdd_IsVisibleWhenItReturns(t *testing.T) {
	q := New[int]("")
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 2000 {
				key := g*2000 + i
				q.Add(key)
				if !q.Remove(key) {
					t.Errorf("the Add of %d has returned and the key is not queued", key)
					return
				}
			}
		})
	}
	all.Wait()
	want(t, "Len", q.Len(), 0)
}

// The synctest bubble fails the test if a goroutine remains.
func TestIdleQueue_HasNoGoroutineAndNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("", WithAging[int](Aging{}))
		q.AddAfter(1, time.Hour)
		q.Add(2)
		q.Get()
		q.Done(2)
		if q.timer != nil {
			t.Error("a timer runs while no Get waits")
		}
	})
}

func TestTimer_IsSetForTheFirstDelayedKeyWhileAGetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int]("")
		got := make(chan int)
		go func() {
			for range 2 {
				key, _ := q.Get()
				got <- key
			}
		}()
		synctest.Wait()
		alarm := func() time.Duration {
			q.mu.Lock()
			defer q.mu.Unlock()
			return time.Duration(q.timerAt)
		}
		want(t, "alarm of a Get without delayed keys", alarm(), time.Duration(math.MaxInt64))
		q.AddAfter(1, time.Hour)
		q.AddAfter(2, time.Minute)
		want(t, "alarm", alarm(), time.Minute)
		want(t, "key", <-got, 2)
		synctest.Wait()
		want(t, "alarm", alarm(), time.Hour)
		want(t, "key", <-got, 1)
		q.ShutDown()
	})
}

func TestAddAfter_KeepsTheOrderOfManyDelaysThatEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int]("")
		for i := range 1000 {
			q.AddAfter(i, time.Second)
		}
		for i := range 1000 {
			key, _ := q.Get()
			q.Done(key)
			if key != i {
				t.Fatalf("hand-out %d is of key %d, want the order of the adds", i, key)
			}
		}
	})
}

func TestQueue_ContinuesAfterAWorkerPanics(t *testing.T) {
	q := New[string]("")
	q.Add("a")
	func() {
		defer func() { want(t, "panic", recover(), any("broken")) }()
		key, _ := q.Get()
		defer q.Done(key)
		panic("broken")
	}()
	q.Add("a")
	want(t, "keys", handOuts(q), []string{"a"})
}

// If many keys become ready between two Gets, the first hand-out has the highest priority,
// and a key that is added later follows the keys of its priority.
func TestOrder_IsKeptForKeysThatBecomeReadyTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const low, high, last = 10_000, 10_000, 10_001
		q := New[int]("")
		for key := range low {
			q.AddWithOpts(AddOpts{Priority: -1, After: time.Duration(key+1) * time.Microsecond}, key)
		}
		q.AddWithOpts(AddOpts{Priority: 1, After: time.Second}, high)
		<-time.After(time.Second)
		q.AddWithOpts(AddOpts{Priority: -1}, last)
		key, _ := q.Get()
		want(t, "first key", key, high)
		for i := range low {
			if key, _ := q.Get(); key != i {
				t.Fatalf("handed out %d, want %d, the order of the delays", key, i)
			}
		}
		key, _ = q.Get()
		want(t, "last key", key, last)
	})
}

func TestAdd_PanicsForAnIncomparableKeyWithoutDamage(t *testing.T) {
	q := New[any]("")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("adding a slice did not panic")
			}
		}()
		q.Add([]int{1})
	}()
	q.Add(1)
	want(t, "keys", handOuts(q), []any{1})
}

// The item of a key is the only allocation.
func TestQueue_AllocatesOneItemPerKey(t *testing.T) {
	q := New("", WithAging[int](Aging{}))
	i := 0
	for name, f := range map[string]func(){
		"add, get and done": func() {
			i++
			q.Add(i)
			key, _ := q.Get()
			q.Done(key)
		},
		"raise": func() {
			q.Add(-1)
			q.AddWithOpts(AddOpts{Priority: 3}, -1)
			q.AddWithOpts(AddOpts{Priority: 5}, -1)
			handOne(q)
		},
		"delay": func() {
			q.AddAfter(-2, time.Nanosecond)
			handOne(q)
		},
	} {
		f()
		if n := testing.AllocsPerRun(1000, f); n != 1 {
			t.Errorf("%s: %v allocations, want 1", name, n)
		}
	}
}

func handOne(q *Queue[int]) {
	key, _ := q.Get()
	q.Done(key)
}
