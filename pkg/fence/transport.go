// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import "net/http"

// Transport lets requests that write wait until the Fence is open; those that read pass.
// It has the form of rest.Config.Wrap.
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
		if err := t.fence.Wait(r.Context()); err != nil {
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
