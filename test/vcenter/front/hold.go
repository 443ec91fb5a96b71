// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Names in Hold for calls over REST: logins, and deployments of library items.
const (
	RESTLogin  = "rest.Login"
	RESTDeploy = "rest.Deploy"
)

// AnswerOf returns the argument of Hold for executing the calls of a method and holding their answers.
func AnswerOf(method string) string { return "answer." + method }

// holds are the methods whose calls or responses are held.
type holds struct {
	mu sync.Mutex
	// released is closed when the calls are released.
	released map[string]chan struct{}
	// waiting is the number of held calls.
	waiting map[string]int
}

// Hold delays the calls of a method, or their responses, until Release.
func (f *Front) Hold(method string) {
	f.holds.mu.Lock()
	defer f.holds.mu.Unlock()
	if f.holds.released == nil {
		f.holds.released, f.holds.waiting = map[string]chan struct{}{}, map[string]int{}
	}
	if f.holds.released[method] == nil {
		f.holds.released[method] = make(chan struct{})
	}
}

// Release releases the calls of a held method.
func (f *Front) Release(method string) {
	f.holds.mu.Lock()
	defer f.holds.mu.Unlock()
	if released := f.holds.released[method]; released != nil {
		close(released)
		delete(f.holds.released, method)
	}
}

// Held returns the number of waiting calls and answers, by the argument of Hold.
func (f *Front) Held() map[string]int {
	f.holds.mu.Lock()
	defer f.holds.mu.Unlock()
	held := maps.Clone(f.holds.waiting)
	maps.DeleteFunc(held, func(_ string, n int) bool { return n == 0 })
	return held
}

// wait returns when method is not held. It returns false if the client disconnects first.
func (h *holds) wait(ctx context.Context, method string) bool {
	h.mu.Lock()
	released := h.released[method]
	if released != nil {
		h.waiting[method]++
	}
	h.mu.Unlock()
	if released == nil {
		return true
	}
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waiting[method]--
	}()
	select {
	case <-released:
		return true
	case <-ctx.Done():
		return false
	}
}

// carryOut executes the call unless its client disconnects while the call is held. While the response is held, no
// client receives it.
func (f *Front) carryOut(w http.ResponseWriter, r *http.Request, method string) {
	if !f.holds.wait(r.Context(), method) {
		return
	}
	if !f.holds.has(AnswerOf(method)) {
		f.serve(w, r, method)
		return
	}
	kept := httptest.NewRecorder()
	f.serve(kept, r, method)
	if !f.holds.wait(r.Context(), AnswerOf(method)) {
		return
	}
	maps.Copy(w.Header(), kept.Header())
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes()) // a failed write means that the client has disconnected
}

func (f *Front) serve(w http.ResponseWriter, r *http.Request, method string) {
	defer f.ends.enter(r, method)()
	f.next.ServeHTTP(w, r)
}

func (h *holds) has(method string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released[method] != nil
}

// restName returns the argument of Hold for a REST call. It is empty for a call that cannot be held.
func restName(r *http.Request) string {
	switch {
	case isLogin(r):
		return RESTLogin
	case strings.HasPrefix(r.URL.Path, libraryItemPath) && r.URL.Query().Get("~action") == "deploy":
		return RESTDeploy
	default:
		return ""
	}
}
