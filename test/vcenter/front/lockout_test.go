// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"slices"
	"testing"
	"time"
)

func TestLockout_AfterFiveFailuresInThreeMinutesLastsFifteen(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &Lockout{Now: func() time.Time { return now }}
	fail := func(times int) {
		for range times {
			if l.Admit("svc", false) {
				t.Fatal("a wrong password was admitted")
			}
		}
	}
	fail(20)
	if !l.Admit("svc", true) {
		t.Fatal("locked although the policy is off")
	}
	l.Enable(true)
	fail(4)
	if !l.Admit("svc", true) {
		t.Error("four failures have locked the account")
	}
	fail(4)
	now = now.Add(181 * time.Second)
	fail(1)
	if !l.Admit("svc", true) {
		t.Error("failures of more than 180 s ago have counted, or those before a success")
	}
	fail(5)
	if l.Admit("svc", true) {
		t.Error("five failures have not locked the account")
	}
	if !slices.Contains(l.State().Locked, "svc") || !l.Admit("other", true) {
		t.Errorf("state %+v; another account must not be locked", l.State())
	}
	now = now.Add(899 * time.Second)
	if l.Admit("svc", true) {
		t.Error("unlocked before 900 s")
	}
	now = now.Add(2 * time.Second)
	if !l.Admit("svc", true) || len(l.State().Locked) != 0 {
		t.Errorf("still locked after 900 s: %+v", l.State())
	}
}
