// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// connectionsPoll is how often it is looked whether all connections have ended.
	connectionsPoll = 5 * time.Millisecond
	// keepAlivePeriod is how often it is asked whether the other end of a silent connection is
	// there, as in the API server library.
	keepAlivePeriod = 3 * time.Minute
)

// countingListener counts the connections that are open.
type countingListener struct {
	net.Listener
	open atomic.Int64
}

// Accept implements net.Listener.
func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlivePeriod) // a closed one says so when it is read
	}
	l.open.Add(1)
	return &countedConn{Conn: c, left: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

// awaitNone returns when no connection is open any more, or after a time.
func (l *countingListener) awaitNone(most time.Duration) {
	look := time.NewTicker(connectionsPoll)
	defer look.Stop()
	for over := time.After(most); l.open.Load() > 0; {
		select {
		case <-look.C:
		case <-over:
			return
		}
	}
}

// countedConn tells when it is closed.
type countedConn struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}
