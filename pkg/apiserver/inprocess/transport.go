// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// peer is where requests come from, as logs and audit have it.
const peer = "127.0.0.1:0"

// Transport returns what hands requests to handler.
func Transport(handler http.Handler) http.RoundTripper { return transport{handler} }

type transport struct{ handler http.Handler }

// RoundTrip returns the answer as soon as the handler has begun it.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// The values of the caller's context, such as its logger, are not those of a request.
	ctx, cancel := context.WithCancel(context.Background())
	reader, pipe := io.Pipe()
	detach := context.AfterFunc(req.Context(), func() {
		cancel()
		_ = pipe.CloseWithError(req.Context().Err()) // what who reads is told
	})
	a := &answer{header: http.Header{}, pipe: pipe, began: make(chan *http.Response, 1), gone: ctx}
	go func() {
		defer cancel()
		defer detach()
		a.serve(t.handler, request(ctx, req))
	}()
	select {
	case response := <-a.began:
		response.Request = req
		response.Body = &body{Reader: bufio.NewReader(reader), close: func() error {
			cancel()
			return reader.Close()
		}}
		return response, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// request is what a server would make of what a client sends.
func request(ctx context.Context, req *http.Request) *http.Request {
	r := req.Clone(ctx)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = peer
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0 // whose answers are streams
	return r
}

// body ends the request when it is closed.
type body struct {
	io.Reader
	close func() error
}

func (b *body) Close() error { return b.close() }

// answer is what a handler writes to.
type answer struct {
	header http.Header
	pipe   *io.PipeWriter
	// began has the answer once it is begun.
	began chan *http.Response
	begin sync.Once
	// gone is done when nobody reads any more.
	gone context.Context //nolint:containedctx // that of the request, which the answer belongs to
}

// serve lets handler answer. A handler that panics has broken its answer off, as
// http.ErrAbortHandler says in so many words.
func (a *answer) serve(handler http.Handler, r *http.Request) {
	defer func() {
		_ = r.Body.Close()
		switch p := recover(); p {
		case nil:
			a.WriteHeader(http.StatusOK)
			_ = a.pipe.Close()
		default:
			if p != http.ErrAbortHandler { //nolint:errorlint // what was given to panic
				utilruntime.HandleErrorWithContext(r.Context(), fmt.Errorf("panic: %v", p), "Serving in the process", "method", r.Method, "path", r.URL.Path)
			}
			a.WriteHeader(http.StatusInternalServerError)
			_ = a.pipe.CloseWithError(io.ErrUnexpectedEOF)
		}
	}()
	handler.ServeHTTP(a, r)
}

// Header returns what goes before the answer, until it is begun.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader begins the answer. Only the first call counts, and none that is only
// information.
func (a *answer) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	a.begin.Do(func() {
		a.began <- &http.Response{
			Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
			Proto: "HTTP/2.0", ProtoMajor: 2, ContentLength: -1, Header: a.header.Clone(),
		}
	})
}

// Write hands data to who reads, and waits until all are taken.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.pipe.Write(data)
}

// Flush begins the answer; what was written is on its way already.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// CloseNotify tells when nobody reads any more. The library that serves the API takes a
// writer for a stream only if it has this.
func (a *answer) CloseNotify() <-chan bool {
	closed := make(chan bool, 1)
	context.AfterFunc(a.gone, func() { closed <- true })
	return closed
}
