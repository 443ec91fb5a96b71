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

// InProcessConfig reaches the handlers of the server as a privileged user, through everything
// that judges and counts requests, and without a connection.
func (s *Server) InProcessConfig() *rest.Config {
	config := s.LoopbackClientConfig()
	config.TLSClientConfig = rest.TLSClientConfig{}
	config.Transport = inprocess.Transport(s.generic.Handler)
	return config
}

// LoopbackClientConfig reaches the server as a privileged user.
func (s *Server) LoopbackClientConfig() *rest.Config {
	return rest.CopyConfig(s.generic.LoopbackClientConfig)
}

// Run serves until told is done or a part fails, and returns when everything has
// stopped. Being told to stop is no error.
func (s *Server) Run(told context.Context) error {
	defer s.close()
	// What is to be known of a stop is written before it begins: only watch begins one.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(told))
	defer cancel(nil)
	go s.watch(ctx, told, cancel)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := s.store.Run(ctx); err != nil {
			s.fail(err)
		}
	})
	if s.prober != nil {
		beside.Go(func() { s.storeHealth.Run(ctx, s.prober.Probe) })
	}
	beside.Go(func() { tendMemory(ctx, s.gcPercent) })
	if s.certificate != nil {
		beside.Go(func() { s.certificate.Run(ctx) })
	}
	beside.Go(func() { s.maintenance.Run(ctx) })
	if schedule, ok := s.snapshots.schedule(s.maintenance.External()); ok {
		beside.Go(func() { s.maintenance.KeepSnapshots(ctx, schedule) })
	}

	err := s.generic.PrepareRun().RunWithContext(ctx)
	cancel(nil)
	s.runner.running.Wait()
	beside.Wait()
	// The host cluster is told of the last writes; without it the server stops as well.
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

// partError says which part made the server stop.
type partError struct{ error }

// Unwrap returns the cause.
func (e *partError) Unwrap() error { return e.error }

// watch ends Run when it is told to or a part fails.
func (s *Server) watch(ctx, told context.Context, cancel context.CancelCauseFunc) {
	var etcd <-chan error
	if s.etcd != nil {
		etcd = s.etcd.Failed()
	}
	select {
	case <-ctx.Done():
	case <-told.Done():
		cancel(nil)
	case err := <-s.failed:
		s.generic.ShutdownDelayDuration = 0 // nobody is to be served on by what has failed
		cancel(&partError{err})
	case err := <-etcd:
		s.generic.ShutdownDelayDuration = 0
		cancel(&partError{fmt.Errorf("embedded etcd failed: %w", err)})
	}
}

// fail makes Run end with err. Only the first call counts.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
		klog.Background().Error(err, "Another part failed while the server stops")
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
