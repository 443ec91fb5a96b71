// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"net/http"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/soap"
)

// endings delays the end of a session until none of its calls runs. The simulator's Logout locks the session's registry
// before the global one. Other calls lock them in the opposite order.
type endings struct {
	mu       sync.Mutex
	sessions map[string]*sync.RWMutex
}

// enter waits for the end of the session, or of its calls, and returns the function that ends the call.
func (e *endings) enter(r *http.Request, method string) (leave func()) {
	cookie, err := r.Cookie(soap.SessionCookieName)
	if err != nil || strings.HasPrefix(method, "WaitForUpdates") {
		return func() {}
	}
	e.mu.Lock()
	session := e.sessions[cookie.Value]
	if session == nil {
		session = &sync.RWMutex{}
		e.sessions[cookie.Value] = session
	}
	e.mu.Unlock()
	if method != "Logout" {
		session.RLock()
		return session.RUnlock
	}
	session.Lock()
	return func() {
		e.mu.Lock()
		delete(e.sessions, cookie.Value)
		e.mu.Unlock()
		session.Unlock()
	}
}
