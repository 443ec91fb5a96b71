// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	restHeader = "vmware-api-session-id"
	restPrefix = "/rest/"
	apiPrefix  = "/api"
	sdkPrefix  = "/sdk"
	// volumesPath is the path of the volume service (cns.Path).
	volumesPath = "/vsanHealth"
	sessionPath = "/rest/com/vmware/cis/session"
	// apiSessionPath is the same since vSphere 7.0 Update 2.
	apiSessionPath = "/api/session"
	// libraryItemPath is the path of OVF items in content libraries.
	libraryItemPath = "/rest/com/vmware/vcenter/ovf/library-item/"
	maxBody         = 64 << 20 // bytes
)

// Waits ends the waits of property collectors.
type Waits interface {
	Kick()
	Cancel(collector types.ManagedObjectReference)
}

// Front is an http.Handler before the simulator's.
type Front struct {
	next     http.Handler
	registry *simulator.Registry
	waits    Waits

	mu      sync.Mutex
	calls   map[string]int
	outage  time.Time // until
	conns   map[net.Conn]struct{}
	known   map[string]struct{} // REST sessions that were used
	dropped map[string]struct{} // REST sessions that are refused

	trace trace
	holds holds
	ends  endings
	away  map[string]bool // paths of services that do not run

	// Lockout is the policy for logins.
	Lockout Lockout

	version        func() string // of the API
	strictVersions bool
	restFrom       time.Time // when the vAPI endpoint has started
}

// New returns a front before next, which speaks the given version of the API.
func New(next http.Handler, registry *simulator.Registry, waits Waits, version func() string) *Front {
	return &Front{
		version: version,
		next:    next, registry: registry, waits: waits,
		calls: map[string]int{}, conns: map[net.Conn]struct{}{},
		known: map[string]struct{}{}, dropped: map[string]struct{}{},
		ends: endings{sessions: map[string]*sync.RWMutex{}},
	}
}

// ServeHTTP passes the request on unless there is an outage or its session was dropped.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.isOut() {
		hangUp(w)
		return
	}
	if f.isAway(r.URL.Path) {
		unavailable(w)
		return
	}
	switch {
	case r.URL.Path == versionsPath:
		f.serveVersions(w)
	case (strings.HasPrefix(r.URL.Path, sdkPrefix) || r.URL.Path == volumesPath) && r.Method == http.MethodPost:
		f.serveSOAP(w, r)
	case strings.HasPrefix(r.URL.Path, restPrefix) || strings.HasPrefix(r.URL.Path, apiPrefix):
		f.serveREST(w, r)
	default:
		f.next.ServeHTTP(w, r)
	}
}

var (
	methodPattern = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
	// Only collectors that a session made: the standard one has the same
	// reference in all sessions.
	collectorPattern = regexp.MustCompile(`<_this[^>]*type="PropertyCollector"[^>]*>(session\[[^<]+)<`)
)

func (f *Front) serveSOAP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f.mismatch(w, r) {
		return
	}

	method := ""
	if found := methodPattern.FindSubmatch(body); found != nil {
		method = string(found[1])
		f.count(method)
		f.trace.add(time.Now(), method, body)
	}
	// The simulator does not notice that a client has disconnected: without this a wait without a timeout would never
	// end.
	if found := collectorPattern.FindSubmatch(body); found != nil && strings.HasPrefix(method, "WaitForUpdates") {
		ref := types.ManagedObjectReference{Type: "PropertyCollector", Value: string(found[1])}
		defer context.AfterFunc(r.Context(), func() { f.waits.Cancel(ref) })()
	}
	f.carryOut(w, r, method)
}

func (f *Front) serveREST(w http.ResponseWriter, r *http.Request) {
	if f.restStarts() {
		// The reverse proxy answers before the endpoint does.
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if id := restSession(r); id != "" && !isLogin(r) && f.isDropped(id) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	f.count(r.Method + " " + r.URL.Path)
	if r.Method == http.MethodDelete && (r.URL.Path == sessionPath || r.URL.Path == apiSessionPath) {
		defer f.forget(restSession(r))
	}
	name := restName(r)
	// The server only notices that a client has disconnected if the body was read.
	if f.trace.on() || name != "" {
		arrived := time.Now()
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.trace.add(arrived, r.Method+" "+r.URL.RequestURI(), body)
	}
	f.carryOut(w, r, name)
}

func isLogin(r *http.Request) bool {
	return r.Method == http.MethodPost && (r.URL.Path == sessionPath || r.URL.Path == apiSessionPath) && r.URL.RawQuery == ""
}

func restSession(r *http.Request) string {
	if id := r.Header.Get(restHeader); id != "" {
		return id
	}
	if cookie, err := r.Cookie(restHeader); err == nil {
		return cookie.Value
	}
	return ""
}

func (f *Front) isDropped(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, dropped := f.dropped[id]
	if !dropped {
		f.known[id] = struct{}{}
	}
	return dropped
}

func (f *Front) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, id)
}

// RESTSessions returns the number of REST sessions that were used and have not ended.
func (f *Front) RESTSessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.known)
}

// StartREST starts the vAPI endpoint d from now. Until then it is unavailable.
func (f *Front) StartREST(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restFrom = time.Now().Add(d)
}

func (f *Front) restStarts() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.restFrom)
}

func (f *Front) count(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
}

// Calls returns the number of calls by SOAP method, and by verb and path for
// REST, since the start.
func (f *Front) Calls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

// DropSessions ends all sessions, and returns how many SOAP sessions there were.
func (f *Front) DropSessions() int {
	f.mu.Lock()
	maps.Copy(f.dropped, f.known)
	clear(f.known)
	f.mu.Unlock()

	own := &simulator.Session{Registry: simulator.NewRegistry(), Map: f.registry}
	ctx := &simulator.Context{Context: context.Background(), Map: f.registry, Session: own}
	manager, ok := own.Get(f.registry.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return 0
	}
	n := 0
	for _, s := range manager.SessionList {
		res := f.registry.SessionManager().TerminateSession(ctx, &types.TerminateSession{SessionId: []string{s.Key}})
		if body, ok := res.(*methods.TerminateSessionBody); ok && body.Fault_ == nil {
			n++
		}
	}
	f.waits.Kick()
	return n
}

// Outage closes all connections, and every new one for the given time.
func (f *Front) Outage(d time.Duration) {
	f.mu.Lock()
	f.outage = time.Now().Add(d)
	conns := maps.Clone(f.conns)
	f.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

func (f *Front) isOut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.outage)
}

// Track is an http.Server's ConnState hook.
func (f *Front) Track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	out := time.Now().Before(f.outage)
	switch state {
	case http.StateNew:
		f.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(f.conns, c)
	}
	f.mu.Unlock()
	if out && state == http.StateNew {
		_ = c.Close()
	}
}

func hangUp(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if c, _, err := hijacker.Hijack(); err == nil {
			_ = c.Close()
			return
		}
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}
