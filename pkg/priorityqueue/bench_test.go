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
		keys[i] = benchKey{"namespace" + strconv.Itoa(i%50), strconv.Itoa(i)}
	}
	return keys
}

// BenchmarkQueue_AddGetDone fills and drains a queue; the time is for one key.
// test/performance/queue compares with other queues.
func BenchmarkQueue_AddGetDone(b *testing.B) {
	for name, options := range map[string][]Option[benchKey]{
		"strict order":       nil,
		"aging and fairness": {WithFairness(func(k benchKey) string { return k.namespace }), WithAging[benchKey](Aging{})},
	} {
		for _, n := range []int{1, 1000, 100_000} {
			b.Run(name+"/"+strconv.Itoa(n), func(b *testing.B) {
				q := New("", options...)
				keys := benchKeys(n)
				b.ReportAllocs()
				b.ResetTimer()
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
}
