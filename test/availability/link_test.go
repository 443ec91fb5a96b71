// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// link is a proxy between one server and one etcd member.
type link struct {
	listener net.Listener
	target   string
	// way is write-locked while the link is cut.
	way sync.RWMutex
}

// newLink starts a proxy in front of an address or a socket path.
func newLink(t *testing.T, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{listener: listener, target: target}
	open := &connections{}
	t.Cleanup(func() { _ = listener.Close(); open.close() })
	go accept(listener, func(c net.Conn) {
		defer open.add(c)()
		k.pass()
		pipe(c, target, k.pass)
	})
	return k
}

func (k *link) address() string { return k.listener.Addr().String() }

// cut drops all traffic, like a broken network, until the returned function is called. Connections stay open, and no
// request is answered.
func (k *link) cut() (heal func()) {
	k.way.Lock()
	return k.way.Unlock
}

// pass waits until the link is not cut.
func (k *link) pass() {
	k.way.RLock()
	defer k.way.RUnlock()
}

// service is a proxy in front of the servers that behaves like kube-proxy: each connection goes to one of the ready
// servers in turn, and stays there until either end closes it.
type service struct {
	listener net.Listener

	mu    sync.Mutex
	ready []string
	next  int
}

func newService(t *testing.T) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v, open := &service{listener: listener}, &connections{}
	t.Cleanup(func() { _ = listener.Close(); open.close() })
	go accept(listener, func(c net.Conn) {
		defer open.add(c)()
		if to := v.choose(); to != "" {
			pipe(c, to, func() {})
		}
	})
	return v
}

func (v *service) port() int { return v.listener.Addr().(*net.TCPAddr).Port }

// set records whether a server is ready.
func (v *service) set(address string, ready bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ready = slices.DeleteFunc(v.ready, func(a string) bool { return a == address })
	if ready {
		v.ready = append(v.ready, address)
	}
	slices.Sort(v.ready)
}

// choose returns a server that is ready, and an empty address if there is none.
func (v *service) choose() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.ready) == 0 {
		return ""
	}
	v.next++
	return v.ready[v.next%len(v.ready)]
}

// accept serves each connection in a goroutine until the listener is closed.
func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			serve(c)
		}()
	}
}

// pipe carries a connection to a target until either end closes it. pass is called before each write.
func pipe(c net.Conn, target string, pass func()) {
	network := "tcp"
	if filepath.IsAbs(target) {
		network = "unix"
	}
	to, err := net.Dial(network, target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, c}, {c, to}} {
		go func() {
			_, _ = io.Copy(passing{way[0], pass}, way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// passing is a connection whose writes wait until pass returns.
type passing struct {
	to   io.Writer
	pass func()
}

// Write implements io.Writer.
func (p passing) Write(b []byte) (int, error) {
	p.pass()
	return p.to.Write(b)
}

// connections are the open connections.
type connections struct {
	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

// add adds a connection and returns a function that removes it.
func (o *connections) add(c net.Conn) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_ = c.Close()
	}
	if o.open == nil {
		o.open = map[net.Conn]struct{}{}
	}
	o.open[c] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.open, c)
	}
}

func (o *connections) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for c := range o.open {
		_ = c.Close()
	}
}
