// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestF1UsersComeAgainUntilTheServerCanTellWhoTheyAre(t *testing.T) {
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	never, always := func() bool { return false }, func() bool { return true }
	waits := func() string { return WaitsForIdentities }
	for name, tc := range map[string]struct {
		handler             http.Handler
		path, authorization string
		code                int
	}{
		"authorities unknown":            {WithIdentities(served, never), "/apis", "", http.StatusServiceUnavailable},
		"authorities unknown, readiness": {WithIdentities(served, never), "/readyz", "", http.StatusServiceUnavailable},
		"authorities unknown, a token":   {WithIdentities(served, never), "/apis", "Bearer token", http.StatusOK},
		"authorities unknown, alive":     {WithIdentities(served, never), "/livez", "", http.StatusOK},
		"authorities known":              {WithIdentities(served, always), "/apis", "", http.StatusOK},
		"host cluster away":              {Starting(waits), "/apis", "", http.StatusServiceUnavailable},
		"host cluster away, a token":     {Starting(waits), "/apis", "Bearer token", http.StatusServiceUnavailable},
		"host cluster away, readiness":   {Starting(waits), "/readyz", "", http.StatusServiceUnavailable},
		"host cluster away, alive":       {Starting(waits), "/livez/ping", "", http.StatusOK},
		"no prefix of a word":            {Starting(waits), "/livezzz", "", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.path, nil)
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			tc.handler.ServeHTTP(w, r)
			if w.Code != tc.code {
				t.Errorf("answer %d %s, want %d", w.Code, w.Body, tc.code)
			}
			again := w.Header().Get("Retry-After") == "1" && w.Header().Get("Connection") == "close" &&
				strings.Contains(w.Body.String(), "extension-apiserver-authentication")
			if again != (tc.code != http.StatusOK) {
				t.Errorf("headers %v, body %q", w.Header(), w.Body)
			}
		})
	}
}
