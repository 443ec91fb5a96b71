// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"strconv"
	"testing"
)

type benchKey struct{ namespace, name string }

func benchKeys(n int) []benchKey {
	keys := make([]benchKey, n)
	for i := range keys {
		keys[i] = benchKey{"namespace", strconv.Itoa(i)}
	}
	return keys
}

// BenchmarkAddGetDone fills and drains a queue of a thousand keys; the time is
// that of one key. Comparisons with other queues are in test/performance/queue.
func BenchmarkAddGetDone(b *testing.B) {
	for name, options := range map[string][]Option[benchKey]{
		"plain":    nil,
		"metrics":  {WithMetrics[benchKey]()},
		"fairness": {WithFairness(func(k benchKey) string { return k.namespace })},
	} {
		b.Run(name, func(b *testing.B) {
			q := New("", options...)
			keys := benchKeys(1000)
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(keys) {
				for _, k := range keys {
					q.Add(k)
				}
				for range keys {
					k, _ := q.Get()
					q.Done(k)
				}
			}
		})
	}
}

// BenchmarkRaise adds queued keys again at ever higher priorities.
func BenchmarkRaise(b *testing.B) {
	q := New[benchKey]("")
	keys := benchKeys(1000)
	b.ReportAllocs()
	for i := range b.N {
		q.AddWithOpts(AddOpts{Priority: i / len(keys) % 100}, keys[i%len(keys)])
	}
}
