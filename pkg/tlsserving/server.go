// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

// What the API server library serves with (SecureServingInfo.Serve).
const (
	idleTimeout       = 90 * time.Second
	readHeaderTimeout = 32 * time.Second
	maxHeaderBytes    = 1 << 20
	// frameBytes hold the body of most requests, and bound what a connection takes in memory.
	frameBytes = 256 << 10
	// defaultStreams is how many requests a connection may have at once if nothing else is said.
	defaultStreams = 100
)

// Server serves a handler over TLS.
type Server struct {
	info     *genericapiserver.SecureServingInfo
	listener *countingListener
	server   *http.Server

	mu sync.Mutex
	// conns are those that speak HTTP/2. With parting true, clients are told to leave them.
	conns   map[*conn]struct{}
	parting bool
}

// New makes a server that listens and serves as info says. Nothing is served before Serve.
func New(info *genericapiserver.SecureServingInfo, handler http.Handler) (*Server, error) {
	s := &Server{info: info, listener: &countingListener{Listener: info.Listener}, conns: map[*conn]struct{}{}}
	s.server = &http.Server{
		Addr: info.Listener.Addr().String(), Handler: handler, MaxHeaderBytes: maxHeaderBytes,
		IdleTimeout: idleTimeout, ReadHeaderTimeout: readHeaderTimeout,
		TLSConfig: baseConfig(info), ErrorLog: errorLog(),
	}
	bound(s.server)
	if info.DisableHTTP2 {
		return s, nil
	}
	streams := defaultStreams
	if n := info.HTTP2MaxStreamsPerConnection; n > 0 {
		streams = n
	}
	s.server.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: streams, MaxReadFrameSize: frameBytes,
		MaxReceiveBufferPerStream: frameBytes, MaxReceiveBufferPerConnection: frameBytes * streams,
	}
	if err := s.configure(); err != nil {
		return nil, fmt.Errorf("configuring HTTP/2: %w", err)
	}
	return s, nil
}

// enter adds a connection to those that are told.
func (s *Server) enter(c *tls.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	entered := &conn{secured: c, parting: s.parting}
	s.conns[entered] = struct{}{}
	return entered
}

// leave takes a connection out of those that are told.
func (s *Server) leave(entered *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, entered)
}

// Serve serves until Stop, with certificates and authorities as they change. It returns an error
// if it cannot accept connections any more.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follow(ctx, s.info, s.server.TLSConfig)
	klog.FromContext(ctx).Info("Serving securely", "address", s.server.Addr)
	err := s.server.Serve(s.secured(s.listener))
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serving at %s: %w", s.server.Addr, err)
}

// Stop listens no more and tells clients to open no more streams. It answers them for half of
// notice, or until they have gone, and ends connections: those without a request under way at
// once, the others with it. It returns when there are none, or at the end of notice.
func (s *Server) Stop(notice time.Duration) {
	_ = s.listener.Close() // of one that is closed already the error says no more
	s.mu.Lock()
	s.parting = true
	for c := range s.conns {
		go c.part() // a client that reads nothing keeps no other waiting
	}
	s.mu.Unlock()
	s.listener.awaitNone(notice / 2)
	ctx, cancel := context.WithTimeout(context.Background(), notice/2)
	defer cancel()
	go func() { _ = s.server.Shutdown(ctx) }() // requests that are still under way then are waited for elsewhere
	s.listener.awaitNone(notice / 2)
}
