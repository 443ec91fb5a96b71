// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // serves the REST API
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// server is a vCenter simulator with TLS.
type server struct {
	model  *simulator.Model
	url    string
	ca     []byte
	thumb  string
	status atomic.Int32
	fails  atomic.Int32
	// before is called for every request. It returns true if it has written a response.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// intercept calls before for all further requests.
func (s *server) intercept(before func(http.ResponseWriter, *http.Request) bool) {
	s.before.Store(&before)
}

func startServer(t *testing.T) *server {
	t.Helper()
	m := simulator.VPX()
	m.Machine, m.Host, m.ClusterHost = 0, 0, 1
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	m.Service.TLS = new(tls.Config)
	m.Service.RegisterEndpoints = true
	m.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword("user", "password")}
	s := m.Service.NewServer()
	srv := &server{model: m}
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if srv.fails.Add(-1) >= 0 {
			w.WriteHeader(int(srv.status.Load()))
			return
		}
		if before := srv.before.Load(); before != nil && (*before)(w, r) {
			return
		}
		m.Service.ServeMux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { front.Close(); s.Close(); m.Remove() })
	cert := front.Certificate()
	srv.url = front.URL + "/sdk"
	srv.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	srv.thumb = soap.ThumbprintSHA1(cert)
	return srv
}

// open returns a session that trusts the server.
func (s *server) open(t *testing.T, change func(*Options)) *Session {
	t.Helper()
	o := Options{
		URL: s.url, CAPEM: s.ca,
		Credentials: func(context.Context) (string, string, error) { return "user", "password", nil },
	}
	if change != nil {
		change(&o)
	}
	session, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// terminate ends all sessions of the server.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	other := s.open(t, nil)
	c, err := other.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	me, err := session.NewManager(c).UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var m mo.SessionManager
	if err := mo.RetrieveProperties(t.Context(), c, c.ServiceContent.PropertyCollector, *c.ServiceContent.SessionManager, &m); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, x := range m.SessionList {
		if x.Key != me.Key {
			ids = append(ids, x.Key)
		}
	}
	if err := session.NewManager(c).TerminateSession(t.Context(), ids); err != nil || len(ids) == 0 {
		t.Fatalf("terminating %d sessions: %v", len(ids), err)
	}
}

func TestOptions_AreValidated(t *testing.T) {
	creds := func(context.Context) (string, string, error) { return "", "", nil }
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"plain HTTP", Options{URL: "http://vc/sdk", Credentials: creds}, "must be https://"},
		{"no host", Options{URL: "https:///sdk", Credentials: creds}, "must be https://"},
		{"credentials in the URL", Options{URL: "https://u:p@vc/sdk", Credentials: creds}, "must not contain a user"},
		{"no credentials", Options{URL: "https://vc/sdk"}, "credentials: required"},
		{"invalid thumbprint", Options{URL: "https://vc/sdk", Credentials: creds, Thumbprint: "zz"}, "must be a SHA-256"},
		{"a CA and a thumbprint", Options{URL: "https://vc/sdk", Credentials: creds, Thumbprint: strings.Repeat("a", 40), CAPEM: []byte("x")}, "not both"},
		{"invalid CA", Options{URL: "https://vc/sdk", Credentials: creds, CAPEM: []byte("x")}, "no certificate"},
		{"missing CA file", Options{URL: "https://vc/sdk", Credentials: creds, CAFile: "/does/not/exist"}, "reading vCenter CA file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := New(tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New = %v, want an error with %q", err, tc.want)
			}
			if tc.o.URL == "https://u:p@vc/sdk" {
				if _, err := New(tc.o); strings.Contains(err.Error(), "u:p") {
					t.Errorf("the error contains the credentials: %v", err)
				}
			}
		})
	}
}

func TestCertificate_IsVerified(t *testing.T) {
	s := startServer(t)
	for _, tc := range []struct {
		name   string
		change func(*Options)
		ok     bool
	}{
		{"CA", nil, true},
		{"SHA-1 thumbprint with colons", func(o *Options) { o.CAPEM, o.Thumbprint = nil, s.thumb }, true},
		{"SHA-1 thumbprint without colons", func(o *Options) { o.CAPEM, o.Thumbprint = nil, strings.ToLower(strings.ReplaceAll(s.thumb, ":", "")) }, true},
		{"another thumbprint", func(o *Options) { o.CAPEM, o.Thumbprint = nil, strings.Repeat("00", 20) }, false},
		{"the system's roots", func(o *Options) { o.CAPEM = nil }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			session := s.open(t, tc.change)
			err := session.Healthy(t.Context())
			if (err == nil) != tc.ok {
				t.Errorf("Healthy = %v, want success %v", err, tc.ok)
			}
			if vimfault.IsUnreachable(err) {
				t.Errorf("the error of an untrusted certificate is temporary: %v", err)
			}
		})
	}
}

func TestPassword_CanBeCorrectedLater(t *testing.T) {
	s := startServer(t)
	password := "wrong"
	var sent atomic.Int32
	session := s.open(t, func(o *Options) {
		o.Credentials = func(context.Context) (string, string, error) { return "user", password, nil }
		o.OnCall = func(method string) {
			if method == "Login" {
				sent.Add(1)
			}
		}
	})
	err := session.Healthy(t.Context())
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("Healthy = %v, want a refusal without the password", err)
	}
	if err := session.Healthy(t.Context()); err == nil || sent.Load() != 1 {
		t.Errorf("the refused credentials were sent %d times, want once: repetitions lock the account", sent.Load())
	}
	password = "password"
	if err := session.Healthy(t.Context()); err != nil {
		t.Errorf("Healthy after the credentials changed = %v", err)
	}
}

func TestSession_IsRenewedOnceForConcurrentCalls(t *testing.T) {
	s := startServer(t)
	var logins atomic.Int32
	session := s.open(t, func(o *Options) {
		inner := o.Credentials
		o.Credentials = func(ctx context.Context) (string, string, error) { logins.Add(1); return inner(ctx) }
	})
	c, err := session.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	epoch := session.Epoch()
	s.terminate(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := methods.FindByInventoryPath(t.Context(), c, &types.FindByInventoryPath{This: *c.ServiceContent.SearchIndex, InventoryPath: "/DC0"})
			if err != nil {
				t.Errorf("a call after the session ended: %v", err)
			}
		})
	}
	wg.Wait()
	if n := logins.Load(); n != 2 {
		t.Errorf("logged in %d times, want 2: at the start and after the session ended", n)
	}
	select {
	case <-epoch:
	default:
		t.Error("the epoch channel was not closed at the new login")
	}
}

func TestRESTSession_IsRenewed(t *testing.T) {
	s := startServer(t)
	session := s.open(t, nil)
	list := func() error {
		return session.WithREST(t.Context(), "list", func(ctx context.Context, c *rest.Client) error {
			_, err := library.NewManager(c).ListLibraries(ctx)
			return err
		})
	}
	if err := list(); err != nil {
		t.Fatal(err)
	}
	session.rest.SessionID("expired")
	if err := list(); err != nil {
		t.Errorf("a call after the REST session ended: %v", err)
	}
}

func TestCalls_RepeatReadsButNotChanges(t *testing.T) {
	s := startServer(t)
	session := s.open(t, nil)
	c, err := session.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.status.Store(http.StatusServiceUnavailable)
	s.fails.Store(2)
	if _, err := methods.FindByInventoryPath(t.Context(), c, &types.FindByInventoryPath{This: *c.ServiceContent.SearchIndex, InventoryPath: "/DC0"}); err != nil {
		t.Errorf("a read during a short outage: %v", err)
	}
	s.fails.Store(1)
	_, err = methods.CreateFolder(t.Context(), c, &types.CreateFolder{This: c.ServiceContent.RootFolder, Name: "x"})
	var unavailable *vimfault.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.StatusCode != 503 || !vimfault.IsUnreachable(err) {
		t.Errorf("a change during an outage = %v, want a temporary UnavailableError", err)
	}
}

func TestCalls_AreLimited(t *testing.T) {
	s := startServer(t)
	entered, release := make(chan struct{}, 10), make(chan struct{})
	var held atomic.Bool
	session := s.open(t, func(o *Options) {
		o.MaxCalls = 2
		o.OnCall = func(string) {
			if held.Load() {
				entered <- struct{}{}
				<-release
			}
		}
	})
	c, err := session.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held.Store(true)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { _, _ = methods.GetCurrentTime(t.Context(), c) })
	}
	<-entered
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := methods.GetCurrentTime(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call above the limit = %v, want it to wait for a slot", err)
	}
	if len(entered) != 0 {
		t.Error("a call above the limit was sent")
	}
	held.Store(false)
	close(release)
	wg.Wait()
}
