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
	// dialTimeout is ample between data centres, and keeps a silent address from holding
	// a place longer than a probe.
	dialTimeout = 5 * time.Second
	keepAlive   = 30 * time.Second
	// maxAnswer bounds one answer that is not a watch, in bytes, uncompressed: a page of 100 Nodes with
	// many images takes about 5 MB. It is read as a stream.
	maxAnswer = 32 << 20
	// maxCalled bounds one answer to a caller, in bytes, and maxDecoded in bytes of memory.
	maxCalled, maxDecoded = 8 << 20, 32 << 20
	// entryCost and fieldCost are what an entry of a list and a field take in memory at most: a Pod takes
	// about a KiB, and an empty one 3 bytes of JSON.
	entryCost, fieldCost = 1 << 10, 64
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

// RoundTrip implements http.RoundTripper. A watch bounds each event by itself.
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

var errAnswer = errors.New("the answer is larger than any that an API server gives")

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
		return resp, err
	}
	if is := resp.Header.Get("Content-Type"); resp.StatusCode < http.StatusMultipleChoices && is != "" && !strings.HasPrefix(is, runtime.ContentTypeJSON) {
		_ = resp.Body.Close()
		return nil, errSyntax
	}
	resp.Body = &decodedBody{ReadCloser: &boundedBody{ReadCloser: resp.Body, left: maxCalled}, left: maxDecoded}
	return resp, nil
}

// decodedBody bounds what an answer in JSON takes when it is decoded.
type decodedBody struct {
	io.ReadCloser
	// left is how many bytes may still be taken.
	left int
	// inText and escaped describe where the last byte was, inList has an entry for each list and object around it.
	inText, escaped bool
	inList          []bool
}

// Read implements io.Reader.
func (b *decodedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		b.count(c)
	}
	if b.left < 0 || len(b.inList) > maxDepth {
		return 0, errAnswer
	}
	return n, err
}

// count takes what a byte of JSON adds.
func (b *decodedBody) count(c byte) {
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

// noRedirect leaves the answer of a redirect as it is: an API server has none.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
