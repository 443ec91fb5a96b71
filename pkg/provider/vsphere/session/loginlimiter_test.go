// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// This happens when the password has been changed in vCenter but not yet in the Secret.
func TestRefusedLogin_IsSentOnceOverBothAPIs(t *testing.T) {
	srv := startServer(t)
	var wrong atomic.Bool
	var logins atomic.Int32
	s := srv.open(t, func(o *Options) {
		o.Credentials = func(context.Context) (string, string, error) {
			if wrong.Load() {
				return "user", "old", nil
			}
			return "user", "password", nil
		}
		o.OnCall = func(method string) {
			if method == "Login" || method == "rest.Login" {
				logins.Add(1)
			}
		}
	})
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong.Store(true)
	logins.Store(0)
	deploy := func() error {
		return s.WithREST(t.Context(), "rest.DeployLibraryItem", func(context.Context, *rest.Client) error { return nil })
	}
	for range 20 {
		if err := deploy(); vimfault.KindOf(err) != vimfault.Denied {
			t.Fatalf("deployment with a wrong password = %v, want a refusal", err)
		}
	}
	srv.terminate(t)
	for range 20 {
		if _, err := methods.GetCurrentTime(t.Context(), c); vimfault.KindOf(err) != vimfault.Denied {
			t.Fatalf("call with a wrong password = %v, want a refusal", err)
		}
	}
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins were sent, want 1: repetitions lock the account", n)
	}
	wrong.Store(false)
	if err := deploy(); err != nil {
		t.Errorf("deployment with the new password = %v", err)
	}
}

func TestRefusedLogins_StayBelowTheLockoutLimit(t *testing.T) {
	denied := soap.WrapVimFault(&types.InvalidLogin{})
	for name, passwords := range map[string]func(i int) string{
		"one password":   func(int) string { return "wrong" },
		"alternating":    func(i int) string { return strconv.Itoa(i % 2) },
		"always another": strconv.Itoa,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r loginLimiter
				var sent []time.Time
				for i := range 1200 { // 20 minutes
					if a, err := r.begin("user", passwords(i)); err == nil {
						r.end(a, denied)
						sent = append(sent, time.Now())
					} else if vimfault.KindOf(err) != vimfault.Denied {
						t.Fatalf("login not sent: %v, want the original refusal", err)
					}
					time.Sleep(time.Second)
				}
				for i := maxRefusals; i < len(sent); i++ {
					if d := sent[i].Sub(sent[i-maxRefusals]); d < refusalWindow {
						t.Fatalf("%d logins within %s", maxRefusals+1, d)
					}
				}
				if len(sent) < 6 {
					t.Errorf("only %d logins in 20 minutes", len(sent))
				}
			})
		})
	}
}

func TestUnansweredLogins_CountUntilTheyEnd(t *testing.T) {
	var r loginLimiter
	var inProgress []*loginAttempt
	for i := range maxRefusals {
		a, err := r.begin("user", strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		inProgress = append(inProgress, a)
	}
	if _, err := r.begin("user", "next"); err == nil || !strings.Contains(err.Error(), "could lock the account") {
		t.Errorf("login during %d other logins = %v, want an error", maxRefusals, err)
	}
	for _, a := range inProgress {
		r.end(a, errors.New("connection reset"))
	}
	a, err := r.begin("user", "next")
	if err != nil {
		t.Fatalf("login after %d unanswered logins = %v, want it sent: an outage does not lock the account", maxRefusals, err)
	}
	r.end(a, nil)
	if len(r.attempts) != 0 {
		t.Errorf("%d attempts are stored after a successful login", len(r.attempts))
	}
}
