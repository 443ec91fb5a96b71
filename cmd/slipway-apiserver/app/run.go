// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver/inprocess"
)

// InProcessConfig connects to the server's handlers as a privileged user. Requests pass authorization, admission and
// flow control, but no network connection.
func (s *Server) InProcessConfig() *rest.Config {
	config := s.LoopbackClientConfig()
	config.TLSClientConfig = rest.TLSClientConfig{}
	config.Transport = inprocess.Transport(s.generic.Handler)
	return config
}

// LoopbackClientConfig returns a configuration that connects to the server as a privileged user.
func (s *Server) LoopbackClientConfig() *rest.Config {
	return rest.CopyConfig(s.generic.LoopbackClientConfig)
}

// Run serves until ctx is done or a component fails, and returns when everything has stopped. It returns nil if ctx
// is done.
func (s *Server) Run(parent context.Context) error {
	defer s.close()
	// The reason of a stop is stored before the stop begins; only watch begins a stop.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	defer cancel(nil)
	go s.watch(ctx, parent, cancel)
	var background sync.WaitGroup
	background.Go(func() {
		if err := s.store.Run(ctx); err != nil {
			s.fail(err)
		}
	})
	if s.prober != nil {
		background.Go(func() { s.storeHealth.Run(ctx, s.prober.Probe) })
	}
	background.Go(func() { manageMemory(ctx, s.gcPercent) })
	if s.certificate != nil {
		background.Go(func() { s.certificate.Run(ctx) })
	}
	background.Go(func() { s.maintenance.Run(ctx) })
	if schedule, ok := s.snapshots.schedule(s.maintenance.External()); ok {
		background.Go(func() { s.maintenance.KeepSnapshots(ctx, schedule) })
	}

	err := s.generic.PrepareRun().RunWithContext(ctx)
	cancel(nil)
	s.runner.running.Wait()
	background.Wait()
	// Flush the last writes to the management cluster. If that cluster is unreachable, the server stops as well.
	_ = s.store.Compare(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("serving the API: %w", err)
	}
	var failure *partError
	if errors.As(context.Cause(ctx), &failure) {
		return failure
	}
	return nil
}

// partError is the failure of the component that made the server stop.
type partError struct{ error }

// Unwrap returns the cause.
func (e *partError) Unwrap() error { return e.error }

// watch ends Run when ctx is done or a component fails.
func (s *Server) watch(ctx, parent context.Context, cancel context.CancelCauseFunc) {
	var etcd <-chan error
	if s.etcd != nil {
		etcd = s.etcd.Failed()
	}
	select {
	case <-ctx.Done():
	case <-parent.Done():
		cancel(nil)
	case err := <-s.failed:
		s.generic.ShutdownDelayDuration = 0 // a failed server must not continue to serve
		cancel(&partError{err})
	case err := <-etcd:
		s.generic.ShutdownDelayDuration = 0
		cancel(&partError{fmt.Errorf("embedded etcd failed: %w", err)})
	}
}

// fail makes Run return err. Only the first call has an effect.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
		klog.Background().Error(err, "Another component failed while the server was stopping")
	}
}

func (s *Server) close() {
	if s.prober != nil {
		_ = s.prober.Close()
	}
	s.store.Close()
	if s.embedded != nil {
		s.embedded.Close()
	}
	if s.maintenance != nil {
		s.maintenance.Close()
	}
	if s.etcd != nil {
		s.etcd.Close()
	}
}
