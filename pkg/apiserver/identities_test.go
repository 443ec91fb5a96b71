// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWithIdentities_RejectsRequestsUntilCAsAreKnown(t *testing.T) {
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	never, always := func() bool { return false }, func() bool { return true }
	waits := func() string { return ReasonWaitingForCAs }
	for name, tc := range map[string]struct {
		handler             http.Handler
		path, authorization string
		code                int
	}{
		"CAs unknown":                               {WithIdentities(served, never), "/apis", "", http.StatusServiceUnavailable},
		"CAs unknown, readiness":                    {WithIdentities(served, never), "/readyz", "", http.StatusServiceUnavailable},
		"CAs unknown, a token":                      {WithIdentities(served, never), "/apis", "Bearer token", http.StatusOK},
		"CAs unknown, liveness":                     {WithIdentities(served, never), "/livez", "", http.StatusOK},
		"CAs known":                                 {WithIdentities(served, always), "/apis", "", http.StatusOK},
		"management cluster unreachable":            {StartingHandler(waits), "/apis", "", http.StatusServiceUnavailable},
		"management cluster unreachable, a token":   {StartingHandler(waits), "/apis", "Bearer token", http.StatusServiceUnavailable},
		"management cluster unreachable, readiness": {StartingHandler(waits), "/readyz", "", http.StatusServiceUnavailable},
		"management cluster unreachable, liveness":  {StartingHandler(waits), "/livez/ping", "", http.StatusOK},
		"a path with the prefix of livez":           {StartingHandler(waits), "/livezzz", "", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.path, nil)
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			tc.handler.ServeHTTP(w, r)
			if w.Code != tc.code {
				t.Errorf("got status %d %s, want %d", w.Code, w.Body, tc.code)
			}
			again := w.Header().Get("Retry-After") == "1" && w.Header().Get("Connection") == "close" &&
				strings.Contains(w.Body.String(), "extension-apiserver-authentication")
			if again != (tc.code != http.StatusOK) {
				t.Errorf("headers %v, body %q", w.Header(), w.Body)
			}
		})
	}
}
