// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

const (
	// namespaceRate and namespaceBurst limit the data that is read from the workload clusters of a namespace, in bytes
	// per second and bytes. They allow reading 5,000 Nodes of 15 KB in less than a minute. Decoding a MiB of JSON with
	// many short values takes about 0.15 s of CPU time.
	namespaceRate, namespaceBurst = 1 << 20, 32 << 20
	// serverRate and serverBurst are the limits of all namespaces together.
	serverRate, serverBurst = 2 << 20, 64 << 20
	// maxRead is the maximum size of one read, so that concurrent readers alternate.
	maxRead = 64 << 10
	// maxLimiters is the maximum number of namespaces with a cached limiter.
	maxLimiters = 10000
)

// readLimits contains the rate limiters for reading from workload clusters.
type readLimits struct {
	server *rate.Limiter

	mu sync.Mutex
	// namespaces maps a namespace to its *rate.Limiter.
	namespaces *lru.Cache
}

func newReadLimits() *readLimits {
	return &readLimits{server: rate.NewLimiter(serverRate, serverBurst), namespaces: lru.New(maxLimiters)}
}

// limiters returns the limiters that apply to a namespace.
func (p *readLimits) limiters(namespace string) []*rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.namespaces.Get(namespace)
	if !ok {
		found = rate.NewLimiter(namespaceRate, namespaceBurst)
		p.namespaces.Add(namespace, found)
	}
	return []*rate.Limiter{found.(*rate.Limiter), p.server}
}

// rateLimitedTransport is a transport that limits the rate at which responses are read.
type rateLimitedTransport struct {
	next     http.RoundTripper
	limiters []*rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (t rateLimitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = newRateLimitedBody(r.Context(), resp.Body, t.limiters)
	}
	return resp, err
}

// WrappedRoundTripper returns the wrapped transport.
func (t rateLimitedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type rateLimitedBody struct {
	io.ReadCloser
	// wait waits until n bytes are allowed.
	wait func(n int) error
}

func newRateLimitedBody(ctx context.Context, body io.ReadCloser, limiters []*rate.Limiter) *rateLimitedBody {
	return &rateLimitedBody{body, func(n int) error {
		for _, l := range limiters {
			if err := l.WaitN(ctx, n); err != nil {
				return fmt.Errorf("at most %d bytes per second are read from the workload clusters of a namespace: %w", namespaceRate, err)
			}
		}
		return nil
	}}
}

// Read implements io.Reader. It waits after reading, so that the sender is slowed down too.
func (b *rateLimitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), maxRead)])
	if waitErr := b.wait(n); waitErr != nil {
		return 0, waitErr
	}
	return n, err
}
