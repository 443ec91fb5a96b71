// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// After a restart all keys are listed. Two are requeued with a delay, an event
// makes the later of them ready immediately, the other comes due, and the queue is
// empty at the time at which the first delay would have ended.
func TestTimer_MayFireAfterItsKeyBecameReadyEarlier(t *testing.T) {
	for _, keys := range []int{2000, 3000} {
		for call, last := range map[string]func(*Queue[int]){
			"Add":      func(q *Queue[int]) { q.Add(1) },
			"Len":      func(q *Queue[int]) { q.Len() },
			"ShutDown": func(q *Queue[int]) { q.ShutDown() },
		} {
			t.Run(fmt.Sprintf("%s with %d keys", call, keys), func(t *testing.T) {
				synctest.Test(t, func(*testing.T) {
					q := New[int]("")
					for key := range keys {
						q.Add(key)
					}
					for range keys {
						key, _ := q.Get()
						switch key {
						case keys - 1:
							q.AddAfter(key, 10*time.Minute)
						case keys - 2:
							q.AddAfter(key, time.Minute)
						}
						q.Done(key)
					}
					q.Add(keys - 1)
					handOne(q)
					<-time.After(time.Minute)
					handOne(q)
					<-time.After(10 * time.Minute)
					last(q)
				})
			})
		}
	}
}

// This test uses the options of the server. Here the timer fires at the given time, so a panic
// could not be recovered.
func TestTimer_MayFireEarlyWithTheOptionsOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 2100
		q := newServerQueue()
		for i := range keys {
			q.AddWithOpts(AddOpts{Priority: -1}, virtualMachine(i))
		}
		for i := range keys {
			key, _ := q.Get()
			switch i {
			case keys - 2:
				q.AddAfter(key, 2*time.Second)
			case keys - 1:
				q.AddAfter(key, time.Minute)
			}
			q.Done(key)
		}
		q.Add(virtualMachine(keys - 1))
		for range 2 {
			key, _ := q.Get()
			q.Done(key)
		}
		got := make(chan types.NamespacedName)
		go func() {
			key, _ := q.Get()
			got <- key
		}()
		q.AddAfter(virtualMachine(1), 2*time.Minute)
		want(t, "key", <-got, virtualMachine(1))
	})
}

// newServerQueue returns a queue with all options that the server uses.
func newServerQueue() *Queue[types.NamespacedName] {
	return New("virtualmachine", WithAging[types.NamespacedName](Aging{}),
		WithFairness(func(key types.NamespacedName) string { return key.Namespace }))
}

func virtualMachine(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("namespace-", i%10), Name: fmt.Sprint("vm-", i)}
}

// Many objects are created at the same time. After the first reconcile 5 % of them are
// requeued after two seconds, and one in a thousand after a minute, but an event arrives
// earlier. After that there are a few events per minute.
func TestQueue_HandlesManySimultaneousCreates(t *testing.T) {
	for _, n := range []int{2000, 3000, 9000} {
		panics := 0
		const runs = 20
		for seed := range uint64(runs) {
			synctest.Test(t, func(*testing.T) {
				defer func() {
					if recover() != nil {
						panics++
					}
				}()
				waveOfCreates(n, rand.New(rand.NewPCG(seed, uint64(n))))
			})
		}
		want(t, fmt.Sprintf("panics in %d runs with %d keys", runs, n), panics, 0)
	}
}

func waveOfCreates(n int, r *rand.Rand) {
	q := New[int]("vm")
	for key := range n {
		q.AddWithOpts(AddOpts{Priority: -1}, key)
	}
	var late []int
	for range n {
		key, _ := q.Get()
		switch {
		case r.IntN(1000) == 0:
			q.AddAfter(key, time.Minute)
			late = append(late, key)
		case r.IntN(20) == 0:
			q.AddAfter(key, 2*time.Second)
		}
		q.Done(key)
	}
	<-time.After(time.Second)
	for _, key := range late {
		q.Add(key)
	}
	for range 120 {
		handOuts(q)
		<-time.After(time.Second)
		if r.IntN(10) == 0 {
			q.Add(r.IntN(n))
		}
	}
}
