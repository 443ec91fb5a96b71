// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"container/list"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	// maxSilent is the maximum number of silent connections.
	maxSilent = 1000
	// reservedFiles is the number of file descriptors reserved for the store and for the server's own connections. If
	// the limit is low, a quarter of it is reserved.
	reservedFiles = 256
)

// LimitConnections returns a listener that reserves file descriptors for the rest of the process, which cannot store
// anything without them. A connection is silent until the server has written to it, which it does not do before the
// client has begun a TLS handshake. If there are too many silent connections or too few descriptors, a new connection
// replaces the oldest silent one. If no connection is silent, the new one is closed. The API server library closes a
// silent connection after 30 seconds.
func LimitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, maxSilent: maxSilent, fits: fits}
}

type limitedListener struct {
	net.Listener
	maxSilent int
	// fits reports whether a connection leaves enough file descriptors.
	fits func(net.Conn) bool

	mu sync.Mutex
	// silent lists the silent connections, the oldest first.
	silent list.List
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		switch {
		case (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && l.closeOldest():
		case err != nil:
			return nil, err
		case !l.fits(c) && !l.closeOldest():
			_ = c.Close()
		default:
			return l.add(c), nil
		}
	}
}

// add records a new connection, and closes the oldest one if too many are silent.
func (l *limitedListener) add(c net.Conn) net.Conn {
	added := &limitedConn{Conn: c, listener: l}
	l.mu.Lock()
	added.element = l.silent.PushBack(added)
	full := l.silent.Len() > l.maxSilent
	l.mu.Unlock()
	if full {
		l.closeOldest()
	}
	return added
}

// closeOldest closes the oldest silent connection, and reports whether there was one.
func (l *limitedListener) closeOldest() bool {
	l.mu.Lock()
	oldest := l.silent.Front()
	if oldest != nil {
		l.silent.Remove(oldest)
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	_ = oldest.Value.(*limitedConn).Conn.Close()
	return true
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	element  *list.Element
	// known is true after the server has written to the connection or closed it.
	known atomic.Bool
}

// Write implements net.Conn. The server writes nothing before a client has begun a TLS handshake.
func (c *limitedConn) Write(data []byte) (int, error) {
	c.forget()
	return c.Conn.Write(data)
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// forget removes the connection from the list of silent connections.
func (c *limitedConn) forget() {
	if c.known.Swap(true) {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.silent.Remove(c.element) // does nothing if closeOldest has removed it
}

// fits compares the descriptor of a connection with the limit of the process. A new descriptor has the lowest free
// number.
func fits(c net.Conn) bool {
	var limit syscall.Rlimit
	raw, ok := c.(syscall.Conn)
	if !ok || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return true
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	enough := true
	_ = control.Control(func(fd uintptr) { enough = leavesFiles(uint64(fd), limit.Cur) })
	return enough
}

// leavesFiles reports whether a descriptor is below the limit minus the reserved descriptors.
func leavesFiles(descriptor, limit uint64) bool {
	return descriptor+min(reservedFiles, limit/4) < limit
}
