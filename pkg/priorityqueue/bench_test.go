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
	metrics := WithMetrics[benchKey]()
	fairness := WithFairness(func(k benchKey) string { return k.namespace })
	for name, options := range map[string][]Option[benchKey]{
		"plain":    nil,
		"metrics":  {metrics},
		"fairness": {fairness},
		"shipped":  {metrics, fairness, WithAging[benchKey](Aging{Applies: func(p int) bool { return p < 0 }})},
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

// BenchmarkDoneOfKeysAddedAgain finishes keys in process that were added again and
// whose turn has come meanwhile.
func BenchmarkDoneOfKeysAddedAgain(b *testing.B) {
	for _, n := range []int{1000, 10_000, 50_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			keys := benchKeys(n)
			for i := 0; i < b.N; i += n {
				b.StopTimer()
				q := New[benchKey]("")
				for _, k := range keys {
					q.Add(k)
					q.Get()
					q.Add(k)
				}
				q.Add(benchKey{})
				q.Get()
				b.StartTimer()
				for _, k := range keys {
					q.Done(k)
				}
			}
		})
	}
}
