// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

func TestYield_EndsTheTurnOfAGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		yields []string
		want   []string
	}{
		"no group":                   {nil, []string{"u1", "a1", "b1", "a2"}},
		"the next group":             {[]string{"u"}, []string{"u1", "a1", "b1", "a2"}}, // alone at its priority
		"a group that is not next":   {[]string{"b"}, []string{"u1", "a1", "b1", "a2"}},
		"a group that does not wait": {[]string{"none"}, []string{"u1", "a1", "b1", "a2"}},
	} {
		q := priorityqueue.New("test", priorityqueue.WithFairness(func(k string) string { return k[:1] }))
		q.AddWithOpts(priorityqueue.AddOpts{Priority: 1}, "u1")
		q.AddWithOpts(priorityqueue.AddOpts{}, "a1", "a2", "b1")
		for _, group := range tc.yields {
			q.Yield(group)
		}
		if diff := cmp.Diff(tc.want, drain(q, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	q := priorityqueue.New("test", priorityqueue.WithFairness(func(k string) string { return k[:1] }))
	q.Yield("a") // the queue is empty
	q.AddWithOpts(priorityqueue.AddOpts{}, "a1", "a2", "a3", "b1", "b2", "b3")
	if diff := cmp.Diff([]string{"b1", "b2", "b3", "a1", "a2", "a3"}, drain(q, "a")); diff != "" {
		t.Errorf("a group that yields at every turn (-want +got):\n%s", diff)
	}
}

// drain hands out all keys while a group yields.
func drain(q *priorityqueue.Queue[string], yields string) (out []string) {
	for q.Len() > 0 {
		if yields != "" {
			q.Yield(yields)
		}
		key, _ := q.Get()
		q.Done(key)
		out = append(out, key)
	}
	return out
}
