// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// controllersHook is the name of the controllers in health checks and logs.
const controllersHook = "controllers"

// runner runs the controllers and holds their Leases.
type runner struct {
	// leases are acquired by the controllers when the store is the known one.
	leases *lease.Leases
	store  *identity.Gate
	// start runs the controllers and returns when ctx is done and all their goroutines have ended. An error ends the
	// process through fail.
	start func(ctx context.Context) error
	fail  func(error)
	// started is true once the controllers run.
	started atomic.Bool
	// running is done when the controllers have ended and the Leases are released.
	running sync.WaitGroup
}

// hook adds a post-start hook that starts the controllers and a pre-shutdown hook that stops them and releases the
// Leases while the server still serves. Otherwise the next replica would wait until the Leases expire. The
// post-start hook may run at any time, even after the pre-shutdown hook.
func (r *runner) hook(
	atStart func(string, genericapiserver.PostStartHookFunc) error, atStop func(string, genericapiserver.PreShutdownHookFunc) error,
) error {
	stopping, stop := context.WithCancel(context.Background())
	return errors.Join(
		atStart("start-"+controllersHook, func(hook genericapiserver.PostStartHookContext) error {
			r.running.Go(func() {
				// A derived context ends a moment after its parent. A Lease could be acquired in between.
				if stopping.Err() != nil {
					return
				}
				ctx, cancel := context.WithCancel(klog.NewContext(hook, klog.LoggerWithName(klog.FromContext(hook), controllersHook)))
				defer cancel()
				defer context.AfterFunc(stopping, cancel)()
				r.run(ctx)
			})
			return nil
		}),
		atStop("stop-"+controllersHook, func() error {
			stop()
			r.running.Wait()
			return nil
		}),
	)
}

// run runs the controllers until ctx is done. They acquire Leases and start when the store is the known one and is
// released.
func (r *runner) run(ctx context.Context) {
	if !r.store.Await(ctx) {
		return
	}
	r.started.Store(true)
	err := r.start(ctx)
	r.leases.Close()
	if err != nil && ctx.Err() == nil {
		r.fail(fmt.Errorf("running the %s: %w", controllersHook, err))
	}
}
