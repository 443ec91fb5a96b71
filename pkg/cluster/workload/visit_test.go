// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestVisit_AllowsFourConcurrentVisitsOfTwentySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Connection{cluster: blue, visits: make(chan struct{}, maxVisits)}
		begin := time.Now()
		var last func()
		for i := range 4 {
			visit, done, err := c.Visit(t.Context())
			if err != nil {
				t.Fatalf("visit %d: %v", i, err)
			}
			if i < 3 {
				defer done()
			}
			if last = done; i == 0 {
				defer func() {
					if <-visit.Done(); time.Since(begin) != 20*time.Second {
						t.Errorf("a visit lasts %s, want 20s", time.Since(begin))
					}
				}()
			}
		}
		if _, _, err := c.Visit(t.Context()); !errors.Is(err, ErrBusy) || errors.Is(err, ErrNotConnected) {
			t.Errorf("the fifth visit: %v, want ErrBusy", err)
		}
		last()
		_, done, err := c.Visit(t.Context())
		if err != nil {
			t.Fatalf("after a visit has ended: %v", err)
		}
		done()
	})
}
