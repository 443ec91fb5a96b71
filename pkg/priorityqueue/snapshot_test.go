// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHistogram_HasTheDocumentedBounds(t *testing.T) {
	for ns, bucket := range map[int64]int{
		-5: 0, 0: 0, 1024: 0, 1025: 1, 4096: 1, 4097: 2, 1 << 38: HistogramBuckets - 1, 1<<38 + 1: HistogramBuckets, 1 << 60: HistogramBuckets,
	} {
		var h Histogram
		h.observe(ns)
		if h.Count[bucket] != 1 {
			t.Errorf("%d ns are not in bucket %d: %v", ns, bucket, h.Count)
		}
	}
}

func TestSnapshot_HasLevelsAndKeysInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("vm", WithAging[string](Aging{After: time.Second, Below: 101}))
		q.AddWithOpts(AddOpts{Priority: 100}, "ns/held", "ns/new")
		q.AddWithOpts(AddOpts{Priority: -1}, "ns/<old>", "ns/older")
		q.AddAfter("ns/late", time.Hour)
		<-time.After(time.Second)
		q.Get()
		q.AddWithOpts(AddOpts{Priority: -4}, "ns/held")
		<-time.After(time.Second)
		want(t, "snapshot", q.Snapshot(), Snapshot{
			Name: "vm", Ready: 4, Delayed: 1, InProcess: 1,
			Levels: []LevelSnapshot{
				{Priority: 100, Depth: 1, Oldest: "ns/new", OldestSeconds: 2},
				{Priority: -1, Depth: 2, Oldest: "ns/<old>", OldestSeconds: 2, Starving: true},
				{Priority: -4, Depth: 1},
			},
			Held: []HeldSnapshot{{Key: "ns/held", Priority: 100, Seconds: 1, Queued: true}},
		})
	})
}
