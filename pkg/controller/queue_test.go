// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Keys of other priorities are returned even if VMs are created all the time.
func TestQueue_AgesAllPrioritiesBelowTheHighest(t *testing.T) {
	for _, priority := range []int{99, 96, PriorityDefaultGeneric} {
		t.Run(fmt.Sprint(priority), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewQueue("vm", QueueOptions{Aging: 2 * time.Second})
				defer q.ShutDown()
				wanted := types.NamespacedName{Name: "wanted"}
				q.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, wanted)
				created, handedOut := 100, 0
				for n := range 20 {
					q.AddWithOpts(priorityqueue.AddOpts{Priority: created}, types.NamespacedName{Name: fmt.Sprint(n)}, types.NamespacedName{Name: fmt.Sprint("more-", n)})
					time.Sleep(time.Second)
					key, _, _ := q.GetWithPriority()
					q.Done(key)
					if key == wanted {
						handedOut = n
						break
					}
				}
				if handedOut != 1 {
					t.Errorf("the key was returned as number %d, want 1, after two seconds", handedOut)
				}
			})
		})
	}
}
