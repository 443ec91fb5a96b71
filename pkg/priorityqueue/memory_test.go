// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

// heapBytes returns the bytes in use after a collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

const manyKeys = 200_000

func addMany(q *Queue[int]) {
	for key := range manyKeys {
		q.Add(key)
	}
}

func handOutAll(q *Queue[int]) {
	for q.Len() > 0 {
		handOne(q)
	}
}

// Each case uses more than ten megabytes at its peak.
var bigThenSmall = map[string]func(q *Queue[int]){
	"drained": func(q *Queue[int]) {
		addMany(q)
		handOutAll(q)
	},
	"drained except for a delayed key": func(q *Queue[int]) {
		q.AddAfter(-1, time.Hour)
		addMany(q)
		q.AddAfter(-2, time.Hour)
		handOutAll(q)
	},
	"drained except for keys in process": func(q *Queue[int]) {
		addMany(q)
		q.Get()
		for q.Len() > 1 {
			handOne(q)
		}
		q.Get()
	},
	"a group for each key": func(q *Queue[int]) {
		q.group = strconv.Itoa
		addMany(q)
		handOutAll(q)
		q.Add(-1)
	},
	"a priority for each key": func(q *Queue[int]) {
		for key := range manyKeys {
			q.AddWithOpts(AddOpts{Priority: key}, key)
		}
		handOutAll(q)
		q.Add(-1)
	},
	"a key that was raised repeatedly": func(q *Queue[int]) {
		for priority := range manyKeys {
			q.AddWithOpts(AddOpts{Priority: priority}, 0)
		}
	},
	"delayed keys that events made ready": func(q *Queue[int]) {
		for key := range manyKeys {
			q.AddAfter(key, time.Hour)
		}
		addMany(q)
		handOutAll(q)
		q.AddAfter(-1, time.Hour)
	},
	"delayed keys that were removed": func(q *Queue[int]) {
		for key := range manyKeys {
			q.AddAfter(key, time.Hour)
		}
		for key := range manyKeys - 1 {
			q.Remove(key)
		}
	},
	"keys in process at the same time": func(q *Queue[int]) {
		addMany(q)
		for range manyKeys {
			q.Get()
		}
		addMany(q)
		for key := range manyKeys {
			q.Done(key)
		}
		handOutAll(q)
		q.Add(-1)
	},
}

func TestQueue_ReleasesMemory(t *testing.T) {
	const limit = 1 << 20
	for name, play := range bigThenSmall {
		t.Run(name, func(t *testing.T) {
			before := heapBytes()
			q := New("", WithAging[int](Aging{}))
			play(q)
			if kept := heapBytes() - before; kept > limit {
				t.Errorf("%d bytes are kept, want at most %d", kept, limit)
			}
			runtime.KeepAlive(q)
		})
	}
}
