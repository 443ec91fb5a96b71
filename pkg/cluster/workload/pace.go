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
	// namespaceRate and namespaceBurst limit what is read of the workload clusters of a namespace, in bytes per
	// second and in bytes: 5,000 Nodes of 15 KB are read in less than a minute. JSON of many short values takes
	// about 0.15 s of processor time for a MiB.
	namespaceRate, namespaceBurst = 1 << 20, 32 << 20
	// serverRate and serverBurst limit what is read of all.
	serverRate, serverBurst = 2 << 20, 64 << 20
	// mostRead bounds one read, so that readers take turns.
	mostRead = 64 << 10
	// pacedNamespaces is the number of namespaces that are remembered.
	pacedNamespaces = 10000
)

// pace limits how fast workload clusters are read.
type pace struct {
	server *rate.Limiter

	mu sync.Mutex
	// namespaces has the *rate.Limiter of each.
	namespaces *lru.Cache
}

func newPace() *pace {
	return &pace{server: rate.NewLimiter(serverRate, serverBurst), namespaces: lru.New(pacedNamespaces)}
}

// of returns the limiters for a namespace.
func (p *pace) of(namespace string) []*rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.namespaces.Get(namespace)
	if !ok {
		found = rate.NewLimiter(namespaceRate, namespaceBurst)
		p.namespaces.Add(namespace, found)
	}
	return []*rate.Limiter{found.(*rate.Limiter), p.server}
}

// paced reads answers as fast as limiters allow.
type paced struct {
	next     http.RoundTripper
	limiters []*rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (t paced) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = newPacedBody(r.Context(), resp.Body, t.limiters)
	}
	return resp, err
}

// WrappedRoundTripper lets others look behind this one.
func (t paced) WrappedRoundTripper() http.RoundTripper { return t.next }

type pacedBody struct {
	io.ReadCloser
	// wait waits until n bytes are allowed.
	wait func(n int) error
}

func newPacedBody(ctx context.Context, body io.ReadCloser, limiters []*rate.Limiter) *pacedBody {
	return &pacedBody{body, func(n int) error {
		for _, l := range limiters {
			if err := l.WaitN(ctx, n); err != nil {
				return fmt.Errorf("of the clusters of a namespace at most %d bytes are read in a second: %w", namespaceRate, err)
			}
		}
		return nil
	}}
}

// Read implements io.Reader. It waits after it has read, while the sender has to wait too.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), mostRead)])
	if late := b.wait(n); late != nil {
		return 0, late
	}
	return n, err
}
