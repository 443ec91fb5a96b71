// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework starts servers for tests.
//
// Guarantees: a server listens on a free port of the loopback interface, keeps its data
// in the test's temporary directory, and has stopped when the test ends.
package framework

import (
	"context"
	"net/http"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

const (
	// startTimeout bounds the start of a server on a loaded machine.
	startTimeout = time.Minute
	// allowedGroup is a group with all permissions that is not privileged.
	allowedGroup = "slipway:testers"
)

// Server is a running slipway-apiserver without a management cluster.
type Server struct {
	config, inProcess *rest.Config
}

// StartStandalone starts a server with an empty store.
func StartStandalone(t testing.TB) *Server {
	t.Helper()
	return StartStandaloneIn(t, t.TempDir())
}

// StartStandaloneIn starts a server with its data in dir, which may contain data of an earlier server. options are
// changed before the start.
func StartStandaloneIn(t testing.TB, dir string, options ...func(*app.Options)) *Server {
	t.Helper()
	s, stop := startStandalone(t, dir, options...)
	t.Cleanup(stop)
	return s
}

// StartStandaloneUntil is StartStandaloneIn for tests that stop the server themselves.
// stop waits until everything has stopped and may be called again.
func StartStandaloneUntil(t testing.TB, dir string, options ...func(*app.Options)) (s *Server, stop func()) {
	t.Helper()
	s, stop = startStandalone(t, dir, options...)
	t.Cleanup(stop)
	return s, stop
}

func startStandalone(t testing.TB, dir string, options ...func(*app.Options)) (*Server, func()) {
	t.Helper()
	o, err := app.NewStandaloneOptions(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Recommended.Authorization.WithAlwaysAllowGroups("system:masters", allowedGroup)
	for _, change := range options {
		change(o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // ended by stop
	server, err := app.New(ctx, o)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stopped := false
	config := server.LoopbackClientConfig()
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		closeIdleConnections(config)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	}
	s := &Server{config: config, inProcess: server.InProcessConfig()}
	if err := waitReady(ctx, s); err != nil {
		stop()
		t.Fatalf("the server did not become ready: %v", err)
	}
	return s, stop
}

// closeIdleConnections closes idle client connections, for which the server would wait a second. Clients with equal
// configurations share their connections.
func closeIdleConnections(config *rest.Config) {
	if transport, err := rest.TransportFor(config); err == nil {
		utilnet.CloseIdleConnectionsFor(transport)
	}
}

func waitReady(ctx context.Context, s *Server) error {
	client, err := versioned.NewForConfig(s.config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		status := 0
		client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&status)
		return status == http.StatusOK, nil
	})
}

// Config returns the configuration of a client in system:masters that uses protobuf and has no rate limit.
func (s *Server) Config() *rest.Config {
	c := rest.CopyConfig(s.config)
	c.QPS = -1
	return c
}

// InProcessConfig is like Config, and connects to the server in-process, as its own controllers do.
func (s *Server) InProcessConfig() *rest.Config {
	c := rest.CopyConfig(s.inProcess)
	c.QPS = -1
	return c
}

// ConfigFor returns the configuration of an ordinary user with all permissions.
func (s *Server) ConfigFor(user string) *rest.Config {
	c := s.Config()
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{allowedGroup}}
	return c
}

// Client returns a clientset with Config.
func (s *Server) Client(t testing.TB) versioned.Interface { return Client(t, s.Config()) }

// Client returns a clientset with config.
func Client(t testing.TB, config *rest.Config) versioned.Interface {
	t.Helper()
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
