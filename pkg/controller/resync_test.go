// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// byState returns the priority that an object's label requests.
func byState(p *corev1.Pod, fallback int) int {
	if p.Labels["urgent"] != "" {
		return 100
	}
	return fallback
}

// newTestEnqueuer returns an Enqueuer with a cache of pods and a queue without workers.
func newTestEnqueuer(pods ...*corev1.Pod) *Enqueuer[*corev1.Pod] {
	return &Enqueuer[*corev1.Pod]{
		Queue:    priorityqueue.New[types.NamespacedName]("test"),
		Objects:  NewStore[*corev1.Pod](podInformer(pods...), false),
		Echoes:   NewEchoes(func(p *corev1.Pod) any { return &p.Status }),
		Priority: byState,
	}
}

// drained removes all keys that are ready and returns their priorities.
func drained(q priorityqueue.Interface[types.NamespacedName]) map[string]int {
	got := map[string]int{}
	for range q.Len() {
		key, priority, _ := q.GetWithPriority()
		got[key.Name] = priority
		q.Done(key)
	}
	return got
}

func TestEnqueuer_ResyncSpreadsObjectsOverThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 120
		var pods []*corev1.Pod
		for i := range count {
			pods = append(pods, pod(func(p *corev1.Pod) { p.Name = fmt.Sprintf("pod-%d", i) }))
		}
		e := newTestEnqueuer(pods...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.Resync(ctx, 10*time.Minute)

		seen := map[string]int{}
		most := 0
		for range resyncSlots {
			<-time.After(10 * time.Minute / resyncSlots)
			synctest.Wait()
			got := drained(e.Queue)
			most = max(most, len(got))
			for name, priority := range got {
				seen[name]++
				if priority != PriorityDefaultGeneric {
					t.Errorf("%s has priority %d, want %d", name, priority, PriorityDefaultGeneric)
				}
			}
		}
		for name, times := range seen {
			if times != 1 {
				t.Errorf("%s was queued %d times, want once", name, times)
			}
		}
		if len(seen) != count || most > count/4 {
			t.Errorf("%d of %d were queued, at most %d in one slot; want all, spread over the period", len(seen), count, most)
		}
	})
}
