// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/waitgroup"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/tlsserving"
)

// takeOver lets the server serve in our place of the API server library's, which ends connections
// while requests are on their way to it, and refuses with 503 what comes once it has begun to:
// who comes through the aggregator is told so. Connections have notice to end, and who asks over
// them is answered as long. A server that cannot listen any more fails.
func takeOver(server *genericapiserver.GenericAPIServer, notice time.Duration, fail func(error)) error {
	serving, err := tlsserving.New(server.SecureServingInfo, server.Handler)
	if err != nil {
		return err
	}
	phase := newPhase(server.SecureServingInfo.Listener.Addr())
	server.SecureServingInfo = &genericapiserver.SecureServingInfo{Listener: phase}

	// The library waits for this one where it would begin to refuse.
	served, ended := server.NonLongRunningRequestWaitGroup, new(waitgroup.SafeWaitGroup)
	if err := ended.Add(1); err != nil {
		return err
	}
	server.NonLongRunningRequestWaitGroup = ended
	go func() {
		defer ended.Done()
		select {
		case <-phase.begun:
			go func() {
				if err := serving.Serve(context.Background()); err != nil {
					fail(err)
				}
			}()
			<-phase.over
		case <-phase.over: // who is told to stop at once may never begin
		}
		serving.Stop(notice)
		served.Wait()
	}()
	return nil
}

// phase is a listener that accepts nothing. With it the library says when to serve.
type phase struct {
	addr        net.Addr
	begun, over chan struct{}
	begin, end  func()
}

func newPhase(addr net.Addr) *phase {
	p := &phase{addr: addr, begun: make(chan struct{}), over: make(chan struct{})}
	p.begin, p.end = sync.OnceFunc(func() { close(p.begun) }), sync.OnceFunc(func() { close(p.over) })
	return p
}

// Accept implements net.Listener.
func (p *phase) Accept() (net.Conn, error) {
	p.begin()
	<-p.over
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (p *phase) Close() error {
	p.end()
	return nil
}

// Addr implements net.Listener.
func (p *phase) Addr() net.Addr { return p.addr }
