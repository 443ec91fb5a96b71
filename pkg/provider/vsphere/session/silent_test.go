// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
)

// patience is much longer than the waits in the tests.
const patience = 30 * time.Second

// mustReturn calls do, and fails the test if do does not return.
func mustReturn(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s did not return", what)
		return nil
	}
}

func TestHealthy_KeepsItsDeadlineDuringAnotherLogin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	s, err := New(Options{
		URL: "https://" + l.Addr().String() + "/sdk", CallTimeout: time.Hour,
		Credentials: func(context.Context) (string, string, error) { return "u", "p", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	connecting, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { _, err := s.Vim(connecting); gaveUp <- err }()
	conn := <-accepted
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := mustReturn(t, "Healthy", func() error { return s.Healthy(ctx) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Healthy = %v, want a deadline error", err)
	}
	giveUp()
	if err := mustReturn(t, "Vim", func() error { return <-gaveUp }); !errors.Is(err, context.Canceled) {
		t.Errorf("Vim = %v, want a cancellation", err)
	}
}

// vCenter's REST endpoint starts minutes after the SOAP endpoint and hangs more often.
func TestRESTLogin_DoesNotBlockSOAPCalls(t *testing.T) {
	srv := startServer(t)
	s := srv.open(t, func(o *Options) { o.CallTimeout = time.Hour })
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(answer) })
	srv.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/session") {
			return false
		}
		asked <- struct{}{}
		<-answer
		return true
	})
	deploying, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- s.LoginREST(deploying) }()
	<-asked
	srv.terminate(t) // a new login is needed
	err = mustReturn(t, "a SOAP call during a hanging REST login", func() error {
		_, err := methods.GetCurrentTime(t.Context(), c)
		return err
	})
	if err != nil {
		t.Errorf("a SOAP call during a hanging REST login = %v", err)
	}
	giveUp()
	if err := mustReturn(t, "the REST login", func() error { return <-gaveUp }); !errors.Is(err, context.Canceled) {
		t.Errorf("LoginREST = %v, want a cancellation", err)
	}
}

func TestLogin_EndsWithTheCallTimeout(t *testing.T) {
	srv := startServer(t)
	s := srv.open(t, func(o *Options) { o.CallTimeout = 50 * time.Millisecond })
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	srv.intercept(func(http.ResponseWriter, *http.Request) bool { <-answer; return true })
	err := mustReturn(t, "Vim", func() error { _, err := s.Vim(t.Context()); return err })
	if err == nil {
		t.Error("Vim = nil although vCenter did not respond")
	}
}

// A deployment takes minutes.
func TestWithLongREST_DoesNotOccupySlots(t *testing.T) {
	srv := startServer(t)
	s := srv.open(t, func(o *Options) { o.MaxCalls = 1 })
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running, finish := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			ended <- s.WithLongREST(t.Context(), "rest.DeployLibraryItem", func(context.Context, *rest.Client) error {
				running <- struct{}{}
				<-finish
				return nil
			})
		}()
	}
	for range 2 {
		_ = mustReturn(t, "the start of a deployment", func() error { <-running; return nil })
	}
	if err := mustReturn(t, "a call during deployments", func() error { _, err := methods.GetCurrentTime(t.Context(), c); return err }); err != nil {
		t.Errorf("a call during deployments = %v", err)
	}
	close(finish)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
