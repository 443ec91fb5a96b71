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

// controllersHook is the name of what runs the controllers, in health checks and logs.
const controllersHook = "controllers"

// runner runs controllers and holds the Leases that they work under.
type runner struct {
	// leases are contended for by the controllers, when the store is the known one.
	leases *lease.Leases
	store  *identity.Gate
	// start runs the controllers and returns when ctx is done and all of their goroutines have ended. An
	// error ends the process by fail.
	start func(ctx context.Context) error
	fail  func(error)
	// started is true from the moment when they run.
	started atomic.Bool
	// running lasts until the controllers have ended and the Leases were given back.
	running sync.WaitGroup
}

// hook adds hooks: the controllers start when the server does, and when it is told to stop they end,
// and the Leases go back, while it still serves. A process that ends before lets the next replica wait
// until the Leases have run out. The hook of the start may run at any time, also after that of the stop.
func (r *runner) hook(
	atStart func(string, genericapiserver.PostStartHookFunc) error, atStop func(string, genericapiserver.PreShutdownHookFunc) error,
) error {
	stopping, stop := context.WithCancel(context.Background())
	return errors.Join(
		atStart("start-"+controllersHook, func(hook genericapiserver.PostStartHookContext) error {
			r.running.Go(func() {
				// A context that ends with another ends a moment later, in which a Lease could be won.
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

// run runs the controllers until ctx is done. They start, and take Leases, when the store is the known
// one and is not held.
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
