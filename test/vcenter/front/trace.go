// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"sync"
	"time"
)

// TracedCall is one call as the trace keeps it.
type TracedCall struct {
	// Time is when the request had arrived.
	Time time.Time `json:"time"`
	// Call is the SOAP method, or verb and path of REST.
	Call string `json:"call"`

	body []byte
}

// maxTrace limits the number of stored calls, and the memory for their bodies of a few KiB each.
const maxTrace = 100_000

// trace keeps the last calls with their bodies while it is on.
type trace struct {
	mu sync.Mutex
	// limit is the number of calls to keep; 0 turns the trace off.
	limit int
	// calls is a ring buffer when it is full. next is then its oldest call.
	calls []TracedCall
	next  int
}

// restart drops the stored calls. From now on the last limit calls are stored.
func (t *trace) restart(limit int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.calls, t.next = limit, nil, 0
}

func (t *trace) on() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit > 0
}

// add keeps a call. The body must not be changed afterwards.
func (t *trace) add(at time.Time, call string, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := TracedCall{Time: at, Call: call, body: body}
	switch {
	case t.limit == 0:
	case len(t.calls) < t.limit:
		t.calls = append(t.calls, c)
	default:
		t.calls[t.next] = c
		t.next = (t.next + 1) % t.limit
	}
}

// naming returns the calls whose path or body contain one of the texts, the oldest
// first.
func (t *trace) naming(texts ...string) []TracedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := []TracedCall{}
	for i := range t.calls {
		c := t.calls[(t.next+i)%len(t.calls)]
		for _, text := range texts {
			if bytes.Contains([]byte(c.Call), []byte(text)) || bytes.Contains(c.body, []byte(text)) {
				found = append(found, c)
				break
			}
		}
	}
	return found
}

// Trace stores the last calls with their bodies from now on, and drops previous ones. 0 stores none.
func (f *Front) Trace(calls int) { f.trace.restart(min(calls, maxTrace)) }

// Traced returns the calls kept by Trace whose path or body contain one of the
// texts, the oldest first.
func (f *Front) Traced(texts ...string) []TracedCall { return f.trace.naming(texts...) }
