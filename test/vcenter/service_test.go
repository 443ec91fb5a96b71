// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/front"
)

func TestLockout_CountsSOAPAndRESTLoginsTogether(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	wrong := url.UserPassword(DefaultUsername, "wrong")
	c := dial(ctx, t, s)
	for range 3 {
		if err := c.Login(ctx, wrong); !fault.Is(err, &types.InvalidLogin{}) {
			t.Fatalf("SOAP: got %v, want InvalidLogin", err)
		}
	}
	for range 2 {
		if err := newREST(c).Login(ctx, wrong); err == nil {
			t.Fatal("REST: a wrong password was admitted")
		}
	}
	if err := c.Login(ctx, account()); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("SOAP with the right password: got %v, want InvalidLogin, as the account is locked", err)
	}
	if err := newREST(c).Login(ctx, account()); err == nil {
		t.Error("REST with the right password is admitted although the account is locked")
	}
	login(ctx, t, s, OperatorUsername)
	s.Front().Lockout.Enable(false)
	if err := c.Login(ctx, account()); err != nil {
		t.Errorf("after the policy was turned off: %v", err)
	}
}

func TestHold_OfARESTLoginDoesNotAffectSOAP(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	s.Front().Hold(front.RESTLogin)
	c := connect(ctx, t, s)
	done := make(chan error, 1)
	go func() { done <- newREST(c).Login(ctx, account()) }()
	eventually(ctx, t, "the login has arrived", func() bool { return s.Front().Calls()["POST /rest/com/vmware/cis/session"] > 1 })
	if _, err := methods.GetCurrentTime(ctx, c); err != nil {
		t.Errorf("SOAP: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := newREST(c).Login(short, account()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second login: got %v, want that it hangs", err)
	}
	s.Front().Release(front.RESTLogin)
	if err := <-done; err != nil {
		t.Errorf("the login after it was let go: %v", err)
	}
}

func TestOptions_RejectAnUnknownAPIVersion(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{APIVersion: "8.0.1.0"})
	s.Front().StrictVersions(true)
	call := func(version string) error {
		c := soap.NewClient(must(soap.ParseURL(s.Ready().URL)), false)
		if err := c.SetRootCAs(s.Ready().CAFile); err != nil {
			t.Fatal(err)
		}
		c.Namespace, c.Version = "urn:vim25", version
		_, err := methods.RetrieveServiceContent(ctx, c, &types.RetrieveServiceContent{This: types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}})
		return err
	}
	for version, known := range map[string]bool{"8.0.1.0": true, "7.0.3.0": true, "6.5": true, "8.0.2.0": false, "9.1.0.0": false} {
		switch err := call(version); {
		case known && err != nil:
			t.Errorf("version %s: %v", version, err)
		case !known && (err == nil || !strings.Contains(err.Error(), "VersionMismatch") || !strings.Contains(err.Error(), version)):
			t.Errorf("version %s: got %v, want VersionMismatch that names it", version, err)
		}
	}
	c := soap.NewClient(must(soap.ParseURL(s.Ready().URL)), false)
	if err := c.SetRootCAs(s.Ready().CAFile); err != nil {
		t.Fatal(err)
	}
	if err := c.UseServiceVersion(); err != nil || c.Version != "8.0.1.0" {
		t.Errorf("the service reports version %q, %v, want 8.0.1.0", c.Version, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
