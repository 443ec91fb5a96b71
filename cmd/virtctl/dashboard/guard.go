// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TokenHeader is the request header with the token.
const TokenHeader = "Slipway-Dashboard-Token"

// NewToken generates the token of one run.
func NewToken() string { return rand.Text() + rand.Text() }

// noTime disables modification times; files have ETags.
var noTime time.Time

// policy lets the page load only its own files, and prevents it from creating scripts or markup from text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard rejects requests of other origins and requests without the token.
type guard struct {
	hosts map[string]bool
	token string
}

func newGuard(port int, token string) *guard {
	g := &guard{hosts: map[string]bool{}, token: token}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		g.hosts[net.JoinHostPort(name, strconv.Itoa(port))] = true
	}
	return g
}

// admit reports whether the request's Host and Origin are this address. If not, it sends an error response.
// answered.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) bool {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	} {
		w.Header().Set(name, value)
	}
	if !g.hosts[r.Host] {
		refuse(w, http.StatusMisdirectedRequest, "the request's Host is not the address of the dashboard")
		return false
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+r.Host {
		refuse(w, http.StatusForbidden, "requests from other origins are not allowed")
		return false
	}
	return true
}

// trusts reports whether the request has the token and is same-origin. If not, it sends an error response.
func (g *guard) trusts(w http.ResponseWriter, r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		refuse(w, http.StatusForbidden, "requests from other origins are not allowed")
		return false
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(TokenHeader)), []byte(g.token)) != 1 {
		refuse(w, http.StatusUnauthorized, "the token is missing or belongs to another run: open the URL that virtctl dashboard printed")
		return false
	}
	return true
}

// refuse sends an error response in the format of the API server.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A write error means that the browser has disconnected.
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Message: "virtctl dashboard: " + message,
	})
}
