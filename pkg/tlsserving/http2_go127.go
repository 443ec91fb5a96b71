// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build go1.27

package tlsserving

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

// maxHeaderValues is how many values the headers of a request have at most, as in the API server
// library.
const maxHeaderValues = 16384

// bound bounds the number of the values of headers.
func bound(server *http.Server) { server.MaxHeaderValueCount = maxHeaderValues }

// configure does nothing: this net/http serves HTTP/2 by itself, over any connection that is secured.
func (s *Server) configure() error { return nil }

// secured makes a listener that of connections over TLS that clients can be told to leave.
func (s *Server) secured(l net.Listener) net.Listener { return &listener{Listener: l, server: s} }

// listener accepts connections over TLS. net/http knows them by their methods.
type listener struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	secured := tls.Server(c, l.server.server.TLSConfig)
	return &accepted{conn: l.server.enter(secured), server: l.server, handshake: secured.HandshakeContext}, nil
}

// accepted is a connection that tells when it is closed.
type accepted struct {
	*conn
	server    *Server
	handshake func(context.Context) error
}

// HandshakeContext is how net/http begins a connection over TLS.
func (a *accepted) HandshakeContext(ctx context.Context) error {
	err := a.handshake(ctx)
	if err == nil && a.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		a.speaksOther()
	}
	return err
}

// Close implements net.Conn.
func (a *accepted) Close() error {
	a.server.leave(a.conn)
	return a.conn.Close()
}

// speaksOther says that what is written are no frames, so that none comes between.
func (a *accepted) speaksOther() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parting, a.ended = false, true
}
