// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
)

// WithIdentities answers requests with status 503 and Retry-After until known returns true. Before that the server
// has not read the CAs that identify users, directly or through kube-apiserver. It would treat every user as
// system:anonymous and reject requests permanently that it could accept later. Requests with a token pass, because
// CAs are not needed to verify a token. /livez passes, because it needs no user.
//
// The answer closes the connection. A client cannot send its certificate later in a connection that was established
// before the CAs were known.
func WithIdentities(next http.Handler, known func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || isLivez(r.URL.Path) || known() {
			next.ServeHTTP(w, r)
			return
		}
		comeAgain(w, ReasonWaitingForCAs)
	})
}

// ReasonWaitingForCAs is the reason in answers while the CAs that identify users have not been read.
const ReasonWaitingForCAs = "waiting for the certificate authorities that identify users " +
	"(ConfigMap kube-system/extension-apiserver-authentication of the management cluster)"

// StartingHandler returns the handler of a server that is waiting for the reason that waits returns. /livez succeeds; all
// other requests get status 503 and Retry-After.
func StartingHandler(waits func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLivez(r.URL.Path) {
			_, _ = w.Write([]byte("ok"))
			return
		}
		comeAgain(w, waits())
	})
}

func isLivez(path string) bool { return path == "/livez" || strings.HasPrefix(path, "/livez/") }

// comeAgain answers with status 503, Retry-After and the reason.
func comeAgain(w http.ResponseWriter, waits string) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close")
	http.Error(w, "the server is starting: "+waits, http.StatusServiceUnavailable)
}
