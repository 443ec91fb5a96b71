// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestControllerHealth_FollowsTheControllersOfThisReplica(t *testing.T) {
	synced, sessionErr, running := false, errors.New("no session"), false
	var sessionChecks map[string]func(context.Context) error
	h := &ControllerHealth{Running: func() bool { return running }, Synced: func() bool { return synced }, Sessions: func() (map[string]func(context.Context) error, bool) { return sessionChecks, sessionChecks != nil }}
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	check := func(when string, want map[string]bool) {
		t.Helper()
		for _, c := range h.Checks() {
			if err := c.Check(request); (err == nil) != want[c.Name()] {
				t.Errorf("%s: %s = %v, want passing %v", when, c.Name(), err, want[c.Name()])
			}
		}
	}
	check("nothing started", map[string]bool{"informers": true, "vcenter-session": true})
	running = true
	check("started", map[string]bool{})
	sessionChecks = map[string]func(context.Context) error{}
	check("no vCenter of this replica", map[string]bool{"vcenter-session": true})
	sessionChecks["vc-1"] = func(context.Context) error { return nil }
	sessionChecks["vc-2"] = func(context.Context) error { return sessionErr }
	check("vCenters configured", map[string]bool{})
	synced = true
	check("synced", map[string]bool{"informers": true})
	sessionErr = nil
	check("logged in", map[string]bool{"informers": true, "vcenter-session": true})
}

func TestControllerHealth_DoesNotCheckSessionsWithoutControllers(t *testing.T) {
	if got := len((&ControllerHealth{}).Checks()); got != 1 {
		t.Errorf("%d checks, want the informers only", got)
	}
}

func TestControllerHealth_FailsForASilentVCenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		sessionChecks := map[string]func(context.Context) error{
			"vc-1": silent, "vc-2": silent, "vc-3": func(context.Context) error { return nil },
		}
		h := &ControllerHealth{Running: func() bool { return true }, Sessions: func() (map[string]func(context.Context) error, bool) { return sessionChecks, true }}
		began := time.Now()
		err := h.checkVCenter(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
		for _, want := range []string{"vCenter vc-1 did not answer within", "vCenter vc-2 did not answer within"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		if took := time.Since(began); took != vcenterTimeout || strings.Contains(err.Error(), "vc-3") {
			t.Errorf("error %v after %s, want it after %s with all checks in parallel", err, took, vcenterTimeout)
		}
	})
}
