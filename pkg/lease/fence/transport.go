// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"net/http"
)

type contextKey struct{}

// NewContext returns a context whose requests through Transport wait for f.
func NewContext(ctx context.Context, f *Fence) context.Context {
	return context.WithValue(ctx, contextKey{}, f)
}

// WrapTransport delays writing requests until the Fence of their context is open, or f if the context has none. Reading requests
// are not delayed. Its signature is that of rest.Config.Wrap.
func (f *Fence) WrapTransport(next http.RoundTripper) http.RoundTripper {
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

// WrappedRoundTripper returns the wrapped transport; see utilnet.RoundTripperWrapper.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
