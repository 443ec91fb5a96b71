// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/waitgroup"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// The library closes the listener, and never asks it for a connection, when it is told to stop
// in the moment in which it begins to serve.
func TestAServerThatIsStoppedBeforeItServesEnds(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &genericapiserver.GenericAPIServer{
		SecureServingInfo: &genericapiserver.SecureServingInfo{Listener: l}, NonLongRunningRequestWaitGroup: new(waitgroup.SafeWaitGroup),
	}
	if err := takeOver(server, 0, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	if err := server.SecureServingInfo.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		server.NonLongRunningRequestWaitGroup.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for requests that cannot come")
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}
