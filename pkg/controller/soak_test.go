// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

var soakReconciles = flag.Int64("soak-reconciles", 50_000, "the number of reconciles of TestSoak")

// soakObjects is the number of objects. It is large enough that all parts of the queue grow and shrink.
const soakObjects = 9000

// TestSoak reconciles objects in simulated time with the queue options of the server: with restarts, bursts of events
// and quiet times. The last version of each object must be reconciled, never by two workers, and by the requested time.
func TestSoak(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		s := &soak{t: t, random: rand.New(rand.NewPCG(seed, 0)), objects: make([]soakObject, soakObjects)}
		for s.reconciles.Load() < *soakReconciles {
			s.process()
		}
		s.calm.Store(true)
		s.process()
		for i := range s.objects {
			if o := &s.objects[i]; o.reconciled.Load() != o.version.Load() {
				t.Errorf("object %d was reconciled at version %d, its last version is %d", i, o.reconciled.Load(), o.version.Load())
			}
		}
	})
}

type soakObject struct {
	version, reconciled atomic.Int64
	held                atomic.Bool
	// requestedAt is the time of the next requested reconcile, in Unix nanoseconds.
	requestedAt atomic.Int64
}

type soak struct {
	t          *testing.T
	reconciles atomic.Int64
	calm       atomic.Bool
	objects    []soakObject

	mu     sync.Mutex
	random *rand.Rand
}

func (s *soak) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

type soakKey = types.NamespacedName

// process simulates the life of one server: it lists all objects, gets events, then none, and ends. In calm times it
// ends when the queue is empty.
func (s *soak) process() {
	q := priorityqueue.New("soak",
		priorityqueue.WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[soakKey](50*time.Millisecond, 5*time.Minute)),
		priorityqueue.WithAging[soakKey](priorityqueue.Aging{}),
		priorityqueue.WithFairness(func(k soakKey) string { return k.Namespace }))
	c := New(Options[soakKey]{Name: "soak", Workers: 16, Queue: q, Reconciler: ReconcilerFunc[soakKey](s.reconcile),
		Priority: func(soakKey) int { return s.priority() }})
	ctx, cancel := context.WithCancel(klog.NewContext(s.t.Context(), logr.Discard()))
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	for i := range s.objects {
		s.objects[i].requestedAt.Store(0)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: -1}, s.key(i))
	}
	events := s.roll(600)
	for second := range events + s.roll(1800) {
		if second < events {
			s.events(q)
		}
		<-time.After(time.Second)
		s.checkRequestedTimes()
		q.Stats()
	}
	for s.calm.Load() {
		if n := q.Snapshot(); n.Ready+n.Delayed+n.InProcess == 0 {
			break
		}
		<-time.After(time.Second)
	}
	cancel()
	running.Wait()
}

func (s *soak) key(i int) soakKey {
	return soakKey{Namespace: fmt.Sprint("namespace-", i%300), Name: fmt.Sprint(i)}
}

func (s *soak) priority() int { return []int{100, 99, 98, 97, -1, -2, -3, -4}[s.roll(8)] }

// events adds the events of one second: mostly few, sometimes a burst.
func (s *soak) events(q *priorityqueue.Queue[soakKey]) {
	n := s.roll(10)
	switch {
	case s.calm.Load():
		return
	case s.roll(60) == 0:
		n = s.roll(soakObjects)
	case s.roll(3) > 0:
		n = 0
	}
	for range n {
		i := s.roll(soakObjects)
		for tries := 0; tries < 200 && s.objects[i].requestedAt.Load() == 0; tries++ {
			i = s.roll(soakObjects) // most events are for objects with a requested reconcile
		}
		s.objects[i].version.Add(1)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: s.priority()}, s.key(i))
	}
}

// checkRequestedTimes checks that no requested reconcile is late. The workers need a few seconds for the longest list.
func (s *soak) checkRequestedTimes() {
	for i := range s.objects {
		if at := s.objects[i].requestedAt.Load(); at != 0 && time.Since(time.Unix(0, at)) > 30*time.Second {
			s.t.Fatalf("object %d was to be reconciled at %v, now is %v", i, time.Unix(0, at), time.Now())
		}
	}
}

func (s *soak) reconcile(_ context.Context, key soakKey) (Result, error) {
	var i int
	if _, err := fmt.Sscan(key.Name, &i); err != nil {
		return Result{}, fmt.Errorf("reading the name of %v: %w", key, err)
	}
	o := &s.objects[i]
	if o.held.Swap(true) {
		s.t.Errorf("object %d is reconciled by two workers", i)
	}
	defer o.held.Store(false)
	s.reconciles.Add(1)
	o.requestedAt.Store(0)
	o.reconciled.Store(o.version.Load())
	if s.roll(4) == 0 {
		<-time.After(time.Duration(s.roll(5)) * time.Millisecond)
	}
	if s.calm.Load() {
		return Result{}, nil
	}
	after := time.Duration(0)
	switch n := s.roll(1000); {
	case n == 0:
		after = 10 * time.Minute
	case n < 3:
		after = time.Minute
	case n < 50:
		after = 2 * time.Second
	case n < 60:
		return Result{Requeue: true}, nil
	case n < 70:
		return Result{}, errors.New("broken")
	default:
		return Result{}, nil
	}
	o.requestedAt.Store(time.Now().Add(after).UnixNano())
	return Result{RequeueAfter: after}, nil
}
