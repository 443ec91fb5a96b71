// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"sync"
)

// holds are the SOAP methods whose calls wait.
type holds struct {
	mu sync.Mutex
	// released is closed when the calls of the method may go on.
	released map[string]chan struct{}
}

// Hold lets calls of a SOAP method wait before they are carried out.
func (f *Front) Hold(method string) {
	f.holds.mu.Lock()
	defer f.holds.mu.Unlock()
	if f.holds.released == nil {
		f.holds.released = map[string]chan struct{}{}
	}
	if f.holds.released[method] == nil {
		f.holds.released[method] = make(chan struct{})
	}
}

// Release lets the calls of a held method go on.
func (f *Front) Release(method string) {
	f.holds.mu.Lock()
	defer f.holds.mu.Unlock()
	if released := f.holds.released[method]; released != nil {
		close(released)
		delete(f.holds.released, method)
	}
}

// wait returns when method is not held, and false when the client has gone before.
func (h *holds) wait(ctx context.Context, method string) bool {
	h.mu.Lock()
	released := h.released[method]
	h.mu.Unlock()
	if released == nil {
		return true
	}
	select {
	case <-released:
		return true
	case <-ctx.Done():
		return false
	}
}
