// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
)

// WithIdentities lets users come again in a second until known is true: until the server
// knows by which authorities to tell who asks, directly or through kube-apiserver. It
// reads them from the host cluster, and would take everybody for system:anonymous
// before, and refuse for good what it must only not do yet. Whoever shows a token is let
// through, for that is not told by authorities, and /livez asks for nobody.
//
// The connection ends with the answer: in one that began before the authorities were
// known a client may show no certificate for as long as it lasts.
func WithIdentities(next http.Handler, known func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || isLivez(r.URL.Path) || known() {
			next.ServeHTTP(w, r)
			return
		}
		comeAgain(w, WaitsForIdentities)
	})
}

// WaitsForIdentities is what a server waits for that cannot tell yet who asks.
const WaitsForIdentities = "it has not read yet by which authorities users are identified " +
	"(ConfigMap kube-system/extension-apiserver-authentication of the host cluster)"

// Starting answers for a server that waits for what waits returns: it is alive, and everybody may
// come again.
func Starting(waits func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLivez(r.URL.Path) {
			_, _ = w.Write([]byte("ok"))
			return
		}
		comeAgain(w, waits())
	})
}

func isLivez(path string) bool { return path == "/livez" || strings.HasPrefix(path, "/livez/") }

// comeAgain is the answer of a server that waits for something.
func comeAgain(w http.ResponseWriter, waits string) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close")
	http.Error(w, "the server is starting: "+waits, http.StatusServiceUnavailable)
}
