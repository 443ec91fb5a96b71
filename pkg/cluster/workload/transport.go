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
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/networks"
)

const (
	// dialTimeout is long enough for connections between data centers, and not longer than a probe.
	dialTimeout = 5 * time.Second
	keepAlive   = 30 * time.Second
	// maxResponse is the maximum size of a response other than a watch, in bytes, uncompressed. A page of 100 Nodes
	// with many images has about 5 MB. It is read as a stream.
	maxResponse = 32 << 20
	// maxCallerResponse is the maximum size of a response to a caller, in bytes. maxDecoded is its maximum decoded size
	// in memory.
	maxCallerResponse, maxDecoded = 8 << 20, 32 << 20
	// entryCost and fieldCost are the assumed memory of a list entry and of a field. A Pod takes about 1 KiB, even an
	// empty one, which has 3 bytes of JSON.
	entryCost, fieldCost = 1 << 10, 64
	// maxErrorResponse is the maximum size of an error response. Its text is logged and shown in events.
	maxErrorResponse = 64 << 10
)

// dialer returns a dial function that only connects to allowed addresses.
func dialer(allowed *networks.Networks) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: allowed.Control}
	return d.DialContext
}

// noProxy is the proxy function of all requests.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// limitedTransport is a transport that limits the size of responses from an untrusted server.
type limitedTransport struct {
	next http.RoundTripper
	// maxBytes is the maximum size of a response.
	maxBytes int64
}

// RoundTrip implements http.RoundTripper. A watch is not limited here, because the stream limits each event.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	switch {
	case err != nil:
		return resp, err
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: min(t.maxBytes, maxErrorResponse)}
	case r.URL.Query().Get("watch") == "":
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: t.maxBytes}
	}
	return resp, nil
}

// WrappedRoundTripper returns the wrapped transport.
func (t limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

var errTooLarge = errors.New("the response exceeds the size limit")

type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// callerTransport is the transport of callers' requests. It rejects them while the cluster does not answer.
type callerTransport struct {
	next http.RoundTripper
	// rejection is the error with which requests are rejected. onFailure is called after a request without a response.
	rejection *atomic.Pointer[NotConnectedError]
	onFailure func()
}

// RoundTrip implements http.RoundTripper.
func (t callerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if why := t.rejection.Load(); why != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, why
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		t.onFailure()
		return resp, err
	}
	if contentType := resp.Header.Get("Content-Type"); resp.StatusCode < http.StatusMultipleChoices && contentType != "" && !strings.HasPrefix(contentType, runtime.ContentTypeJSON) {
		_ = resp.Body.Close()
		return nil, errSyntax
	}
	resp.Body = &decodeLimitedBody{ReadCloser: &limitedBody{ReadCloser: resp.Body, left: maxCallerResponse}, left: maxDecoded}
	return resp, nil
}

// decodeLimitedBody limits the estimated memory of a response after JSON decoding.
type decodeLimitedBody struct {
	io.ReadCloser
	// left is the remaining memory budget in bytes.
	left int
	// inText and escaped are the state of the scanner. inList has an entry for each enclosing list (true) and object
	// (false).
	inText, escaped bool
	inList          []bool
}

// Read implements io.Reader.
func (b *decodeLimitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		b.count(c)
	}
	if b.left < 0 || len(b.inList) > maxDepth {
		return 0, errTooLarge
	}
	return n, err
}

// count subtracts the cost of a byte of JSON from the budget.
func (b *decodeLimitedBody) count(c byte) {
	b.left--
	if b.inText {
		b.inText, b.escaped = b.escaped || c != '"', !b.escaped && c == '\\'
		return
	}
	switch c {
	case '"':
		b.inText = true
	case '[', '{':
		b.inList = append(b.inList, c == '[')
	case ']', '}':
		b.inList = b.inList[:max(0, len(b.inList)-1)]
	}
	if c != ',' && c != '[' && c != '{' || len(b.inList) == 0 {
		return
	}
	if b.left -= fieldCost; b.inList[len(b.inList)-1] {
		b.left -= entryCost - fieldCost
	}
}

// noRedirect returns a redirect response unchanged. API servers do not send redirects.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
