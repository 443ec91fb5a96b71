// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.27

package tlsserving

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

//lint:file-ignore SA1019 Before Go 1.27 net/http serves HTTP/2 over no other connections than its own.

// bound does nothing: this net/http bounds the bytes of headers, and not their number.
func bound(*http.Server) {}

// configure lets the server serve HTTP/2 over connections that clients can be told to leave.
func (s *Server) configure() error {
	second := &http2.Server{}
	if err := http2.ConfigureServer(s.server, second); err != nil {
		return err
	}
	s.server.TLSNextProto[http2.NextProtoTLS] = func(server *http.Server, c *tls.Conn, handler http.Handler) {
		options := &http2.ServeConnOpts{BaseConfig: server, Handler: handler}
		if h, ok := handler.(interface{ BaseContext() context.Context }); ok { // as ConfigureServer asks for it
			options.Context = h.BaseContext()
		}
		entered := s.enter(c)
		defer s.leave(entered)
		second.ServeConn(entered, options)
	}
	return nil
}

// secured makes a listener that of connections over TLS.
func (s *Server) secured(l net.Listener) net.Listener { return tls.NewListener(l, s.server.TLSConfig) }
