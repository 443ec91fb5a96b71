// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/waitgroup"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

const (
	// connectionsPoll is how often it is looked whether all connections have ended.
	connectionsPoll = 5 * time.Millisecond
	// keepAlivePeriod is how often it is asked whether the other end of a silent connection is
	// there, as in the API server library.
	keepAlivePeriod = 3 * time.Minute
)

// draining serves on over open connections after the server has stopped to listen, until their
// clients have taken note that these end. The API server library by itself refuses with 503
// what is under way to it in that moment, and who comes through the aggregator is told so.
type draining struct {
	// served are the requests that are answered.
	served   *waitgroup.SafeWaitGroup
	listener *countingListener
	// notes is how long clients have to take note.
	notes time.Duration
}

// newDraining makes it of a configuration of which no server was made yet.
func newDraining(c *genericapiserver.Config, notes time.Duration) *draining {
	d := &draining{served: c.NonLongRunningRequestWaitGroup, listener: newCountingListener(c.SecureServing.Listener), notes: notes}
	c.SecureServing.Listener = d.listener
	return d
}

// takeOver makes a server wait for d where it would begin to refuse.
func (d *draining) takeOver(server *genericapiserver.GenericAPIServer) error {
	ended := new(waitgroup.SafeWaitGroup)
	if err := ended.Add(1); err != nil {
		return err
	}
	server.NonLongRunningRequestWaitGroup = ended
	go func() {
		defer ended.Done()
		<-d.listener.deaf
		d.listener.awaitNone(d.notes)
		d.served.Wait()
	}()
	return nil
}

// countingListener tells when it is closed, and counts the connections that are open.
type countingListener struct {
	net.Listener
	deaf  chan struct{}
	close func() error
	open  atomic.Int64
}

func newCountingListener(l net.Listener) *countingListener {
	c := &countingListener{Listener: l, deaf: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		defer close(c.deaf)
		return l.Close()
	})
	return c
}

// Accept implements net.Listener. The API server library asks TCP connections by themselves
// whether the other end is still there, and does not know this one for such.
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

// Close implements net.Listener.
func (l *countingListener) Close() error { return l.close() }

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
