// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func TestReadinessFollowsTheControllersOfThisReplica(t *testing.T) {
	h := newHealth(true)
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	check := func(when string, want map[string]bool) {
		t.Helper()
		for _, c := range h.checks() {
			if err := c.Check(request); (err == nil) != want[c.Name()] {
				t.Errorf("%s: %s = %v, want passing %v", when, c.Name(), err, want[c.Name()])
			}
		}
	}
	check("without the Lease", map[string]bool{"informers": true, "vcenter-session": true})
	h.lead()
	check("with the Lease, nothing started", map[string]bool{})
	synced, session := false, errors.New("no session")
	h.set(func() bool { return synced }, func(context.Context) error { return session })
	check("started", map[string]bool{})
	synced = true
	check("synced", map[string]bool{"informers": true})
	session = nil
	check("logged in", map[string]bool{"informers": true, "vcenter-session": true})
}

func TestServerWithoutVCenterDoesNotCheckASession(t *testing.T) {
	if got := len(newHealth(false).checks()); got != 1 {
		t.Errorf("%d checks, want the informers only", got)
	}
}

func TestSilentVCenterFailsTheCheckInsteadOfHoldingIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(true)
		h.lead()
		h.set(func() bool { return true }, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		err := h.checkVCenter(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
		if err == nil || !strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("error %v, want that vCenter did not answer", err)
		}
	})
}
