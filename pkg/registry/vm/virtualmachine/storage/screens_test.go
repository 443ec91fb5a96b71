// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRates_LimitEachUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates()
		taken := func(user string) (n int) {
			for r.tryAcquire(user) {
				n++
			}
			return n
		}
		if n := taken("alice"); n != burst {
			t.Errorf("alice got a burst of %d requests, want %d", n, burst)
		}
		if n := taken("bob"); n != burst {
			t.Errorf("bob got %d requests after alice, want %d", n, burst)
		}
		time.Sleep(3 * time.Second)
		if n := taken("alice"); n != 3*perSecond {
			t.Errorf("alice got %d requests after three seconds, want %d", n, 3*perSecond)
		}
		time.Sleep(time.Hour)
		if n := taken("alice"); n != burst {
			t.Errorf("alice got %d requests after an hour, want %d", n, burst)
		}
	})
}
