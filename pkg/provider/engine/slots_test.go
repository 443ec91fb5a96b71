// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestSlots_GoToTheHighestPriorityThatWaitsLongest(t *testing.T) {
	now := time.Time{}
	key := func(name string) provider.Key {
		return provider.VirtualMachineKey(types.NamespacedName{Namespace: "ns", Name: name})
	}
	p := newSlotPools(Limits{Creates: 1}, time.Minute)[creates]
	if !p.acquire(key("first"), 100, now) {
		t.Fatal("the first got no slot")
	}
	for _, req := range []struct {
		name     string
		priority int
	}{{"low", 1}, {"high-1", 100}, {"high-2", 100}, {"raised", 1}, {"raised", 200}} {
		if p.acquire(key(req.name), req.priority, now) {
			t.Errorf("%s got a slot although none is free", req.name)
		}
	}
	var woken []string
	last := key("first")
	for next := p.release(last, now); len(next) > 0; next = p.release(last, now) {
		for _, k := range next {
			last = k
			woken = append(woken, k.Name)
			if !p.acquire(k, 0, now) {
				t.Errorf("%s got no slot after its wake-up", k.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"raised", "high-1", "high-2", "low"}, woken); diff != "" {
		t.Errorf("wake-ups (-want +got):\n%s", diff)
	}
}
