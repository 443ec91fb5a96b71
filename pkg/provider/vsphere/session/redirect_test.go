// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
)

// A server in place of vCenter must not be able to redirect a login to another server or to an
// unencrypted connection.
func TestRedirect_IsNotFollowed(t *testing.T) {
	for name, elsewhere := range map[string]func(http.Handler) *httptest.Server{"another port": httptest.NewTLSServer, "no TLS": httptest.NewServer} {
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			t.Run(name+" "+http.StatusText(code), func(t *testing.T) {
				var asked atomic.Int32
				other := elsewhere(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					asked.Add(1)
					w.WriteHeader(http.StatusNotFound)
				}))
				t.Cleanup(other.Close)
				s := startServer(t)
				session := s.open(t, nil)
				if _, err := session.Vim(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasPrefix(r.URL.Path, "/sdk") {
						http.Redirect(w, r, other.URL+r.URL.Path, code)
					}
					return !strings.HasPrefix(r.URL.Path, "/sdk")
				})
				err := session.WithREST(t.Context(), "test", func(context.Context, *rest.Client) error { return nil })
				if err == nil || asked.Load() != 0 {
					t.Errorf("REST: error %v, and %d requests to the redirect target", err, asked.Load())
				}
				s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					http.Redirect(w, r, other.URL+r.URL.Path, code)
					return true
				})
				_, err = s.open(t, nil).Vim(t.Context())
				if err == nil || asked.Load() != 0 {
					t.Errorf("SOAP: error %v, and %d requests to the redirect target", err, asked.Load())
				}
			})
		}
	}
}
