// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// slotUsers are objects that acquire slots of a class with twelve slots, at a fixed time.
type slotUsers struct {
	*slotPool
	now     time.Time
	running map[string][]provider.Key
}

func newSlotUsers() *slotUsers {
	return &slotUsers{slotPool: newSlotPools(Limits{Creates: 12}, time.Minute)[creates], running: map[string][]provider.Key{}}
}

func (c *slotUsers) request(namespace string, from, to, priority int) {
	for i := from; i < to; i++ {
		c.start(provider.VirtualMachineKey(types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}), priority)
	}
}

func (c *slotUsers) start(key provider.Key, priority int) {
	if c.acquire(key, priority, c.now) {
		c.running[key.Namespace] = append(c.running[key.Namespace], key)
	}
}

// end ends the oldest operation of a namespace. It starts the operations of the objects that are woken, and returns
// their names.
func (c *slotUsers) end(namespace string) (woken []string) {
	key := c.running[namespace][0]
	c.running[namespace] = c.running[namespace][1:]
	for _, next := range c.release(key, c.now) {
		c.start(next, 0)
		woken = append(woken, next.Namespace+"/"+next.Name)
	}
	return woken
}

func TestSlots_NamespaceUsesAtMostHalfWhileOthersWait(t *testing.T) {
	c := newSlotUsers()
	c.request("slow", 0, 100, 0)
	if n := len(c.running["slow"]); n != 12 {
		t.Fatalf("without others it has %d slots, want all 12", n)
	}
	c.request("other", 0, 100, 0)
	var woken []string
	for range 6 {
		woken = append(woken, c.end("slow")...)
	}
	if diff := cmp.Diff([]string{"other/0", "other/1", "other/2", "other/3", "other/4", "other/5"}, woken); diff != "" {
		t.Errorf("wake-ups while one namespace has more than half (-want +got):\n%s", diff)
	}
	// The operations of slow take long; those of other end immediately.
	for i := range 90 {
		c.end("other")
		if n := len(c.running["slow"]); n > 6 {
			t.Fatalf("after %d short operations the namespace with long operations has %d of 12 slots", i+1, n)
		}
	}
	// No other namespace waits any more, so all slots are used.
	for len(c.running["other"]) > 0 {
		c.end("other")
	}
	if n := len(c.running["slow"]); n != 12 {
		t.Errorf("without others again it has %d slots, want all 12", n)
	}
	if got := c.end("slow"); len(got) != 1 || got[0] != "slow/18" {
		t.Errorf("next wake-up: %q, want slow/18, the first in the queue of its namespace", got)
	}
}

func TestSlots_HigherPriorityIsFirstInAnyNamespace(t *testing.T) {
	c := newSlotUsers()
	c.request("slow", 0, 12, 0)
	c.request("other", 0, 1, 0)
	c.request("slow", 12, 13, 1)
	if got := c.end("slow"); len(got) != 1 || got[0] != "slow/12" {
		t.Errorf("wake-up: %q, want slow/12, whose priority is higher", got)
	}
}
