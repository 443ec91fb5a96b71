// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"net/http"
)

type contextKey struct{}

// NewContext returns a context under which requests of Transport wait for f.
func NewContext(ctx context.Context, f *Fence) context.Context {
	return context.WithValue(ctx, contextKey{}, f)
}

// Transport lets requests that write wait until the Fence of their context, or f when that
// has none, is open; those that read pass. It has the form of rest.Config.Wrap.
func (f *Fence) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		fence, ok := r.Context().Value(contextKey{}).(*Fence)
		if !ok {
			fence = t.fence
		}
		if err := fence.Wait(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets others look behind this one.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
