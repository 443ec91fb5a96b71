// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// authority is known or not.
type authority struct {
	dynamiccertificates.CAContentProvider
	known bool
}

func (a authority) VerifyOptions() (x509.VerifyOptions, bool) { return x509.VerifyOptions{}, a.known }

func TestUsersWaitUntilTheFrontProxyIsKnown(t *testing.T) {
	shown := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	proxy := func(authorityKnown bool, headers ...string) *authenticatorfactory.RequestHeaderConfig {
		return &authenticatorfactory.RequestHeaderConfig{
			CAContentProvider: authority{known: authorityKnown}, UsernameHeaders: headerrequest.StaticStringSlice(headers),
		}
	}
	for name, tc := range map[string]struct {
		proxy *authenticatorfactory.RequestHeaderConfig
		tls   *tls.ConnectionState
		code  int
	}{
		"nothing known":           {proxy(false), shown, http.StatusServiceUnavailable},
		"authority unknown":       {proxy(false, "X-Remote-User"), shown, http.StatusServiceUnavailable},
		"headers unknown":         {proxy(true), shown, http.StatusServiceUnavailable},
		"known":                   {proxy(true, "X-Remote-User"), shown, http.StatusOK},
		"no certificate is shown": {proxy(false), &tls.ConnectionState{}, http.StatusOK},
		"no TLS":                  {proxy(false), nil, http.StatusOK},
		"no host cluster":         {nil, shown, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h := withFrontProxyKnown(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), tc.proxy)
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/apis", nil)
			r.TLS = tc.tls
			h.ServeHTTP(w, r)
			if w.Code != tc.code {
				t.Errorf("answer %d %s, want %d", w.Code, w.Body, tc.code)
			}
			if waits := w.Header().Get("Retry-After") == "1" && strings.Contains(w.Body.String(), "extension-apiserver-authentication"); waits != (tc.code != http.StatusOK) {
				t.Errorf("headers %v, body %q", w.Header(), w.Body)
			}
		})
	}
}
