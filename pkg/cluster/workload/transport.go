// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/slipway-dev/slipway/pkg/networks"
)

const (
	// dialTimeout is ample between data centres, and keeps a silent address from holding
	// a place longer than a probe.
	dialTimeout = 5 * time.Second
	keepAlive   = 30 * time.Second
	// maxAnswer bounds one answer that is not a watch, in bytes, uncompressed: a page of 500 Nodes with
	// many images takes about 10 MB.
	maxAnswer = 64 << 20
	// maxRefusal bounds one that is no success: what it says goes into the log and into events.
	maxRefusal = 64 << 10
)

// dialer returns a function that connects to the addresses that allowed permits.
func dialer(allowed *networks.Networks) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: allowed.Control}
	return d.DialContext
}

// direct is the proxy of every request: none.
func direct(*http.Request) (*url.URL, error) { return nil, nil }

// bounded bounds the answers of a server that is not trusted.
type bounded struct {
	next http.RoundTripper
	// bytes is the most that an answer may have.
	bytes int64
}

// RoundTrip implements http.RoundTripper. The decoder of watches bounds each event by itself.
func (t bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	switch {
	case err != nil:
		return resp, err
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: min(t.bytes, maxRefusal)}
	case r.URL.Query().Get("watch") == "":
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: t.bytes}
	}
	return resp, nil
}

// WrappedRoundTripper lets others look behind this one.
func (t bounded) WrappedRoundTripper() http.RoundTripper { return t.next }

var errAnswer = errors.New("the answer is larger than any that a cluster gives")

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errAnswer
	}
	return n, err
}

// gate lets requests of callers pass while the cluster answers.
type gate struct {
	next http.RoundTripper
	// shut says why requests do not pass, and suspect is called after one without answer.
	shut    *atomic.Pointer[NotConnectedError]
	suspect func()
}

// RoundTrip implements http.RoundTripper.
func (t gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if why := t.shut.Load(); why != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, why
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		t.suspect()
	}
	return resp, err
}

// noRedirect leaves the answer of a redirect as it is: an API server has none.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
