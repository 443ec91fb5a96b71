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

// peer is the remote address of requests in logs and audit events.
const peer = "127.0.0.1:0"

// Transport returns a RoundTripper that calls handler.
func Transport(handler http.Handler) http.RoundTripper { return transport{handler} }

type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. It returns when the handler has begun the response.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// The request must not inherit values of the caller's context, such as its logger.
	ctx, cancel := context.WithCancel(context.Background())
	reader, pipe := io.Pipe()
	detach := context.AfterFunc(req.Context(), func() {
		cancel()
		_ = pipe.CloseWithError(req.Context().Err()) // returned to the reader of the body
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

// request returns req as a server would receive it.
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
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0 // responses of HTTP/2 are streams
	return r
}

// body is a response body that ends the request when it is closed.
type body struct {
	io.Reader
	close func() error
}

func (b *body) Close() error { return b.close() }

// answer is the ResponseWriter of the handler.
type answer struct {
	header http.Header
	pipe   *io.PipeWriter
	// began receives the response when it begins.
	began chan *http.Response
	begin sync.Once
	// gone is done when the client has stopped reading.
	gone context.Context //nolint:containedctx // the context of the request
}

// serve calls handler. If the handler panics, for example with http.ErrAbortHandler, the response is aborted.
func (a *answer) serve(handler http.Handler, r *http.Request) {
	defer func() {
		_ = r.Body.Close()
		switch p := recover(); p {
		case nil:
			a.WriteHeader(http.StatusOK)
			_ = a.pipe.Close()
		default:
			if p != http.ErrAbortHandler { //nolint:errorlint // the value passed to panic
				utilruntime.HandleErrorWithContext(r.Context(), fmt.Errorf("panic: %v", p), "Serving in the process", "method", r.Method, "path", r.URL.Path)
			}
			a.WriteHeader(http.StatusInternalServerError)
			_ = a.pipe.CloseWithError(io.ErrUnexpectedEOF)
		}
	}()
	handler.ServeHTTP(a, r)
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader begins the response. Informational statuses and all calls after the first are ignored.
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

// Write passes data to the reader and waits until it has been read.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.pipe.Write(data)
}

// Flush begins the response. Written data need not be flushed.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// CloseNotify returns a channel that receives a value when the client has stopped reading. The API server library
// requires this method for streams.
func (a *answer) CloseNotify() <-chan bool {
	closed := make(chan bool, 1)
	context.AfterFunc(a.gone, func() { closed <- true })
	return closed
}
