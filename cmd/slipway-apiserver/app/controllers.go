// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// controllerDeps is what controllers are wired from.
type controllerDeps struct {
	// options are the flags.
	options *Options
	// loopback reaches our own API as a privileged user, in the process.
	loopback *rest.Config
	// stores are read by informers of what there is much of.
	stores *references.Readers
	// hostConfig and host reach the host cluster.
	hostConfig *rest.Config
	host       kubernetes.Interface
	// hostInformers watch it, and charges measure for its ResourceQuotas.
	hostInformers informers.SharedInformerFactory
	charges       *quota.Evaluators
	// dataDir is the directory that only this process uses, empty with etcd servers.
	dataDir string
	// alone is true for a lone embedded etcd: no other process has the same store.
	alone bool
	// leases divide the work among replicas. They are there when controllers start.
	leases *lease.Leases
	// store lets the controllers start; nil without a management cluster.
	store *identity.Gate
	// health is told how to ask for informers and session.
	health *health
	// mux takes debugging pages, for example /debug/queue; authorization is as for
	// every path.
	mux *mux.PathRecorderMux
	// orphans is told how to find them.
	orphans *orphanReport
	// queues is told which there are.
	queues *queueReport
	// consoles are told what vCenters there are.
	consoles *consoles
}

// controllersHook is the name of what runs the controllers, in health checks and logs.
const controllersHook = "controllers"

// controllerStarter wires and runs controllers and returns when ctx is done and all of
// their goroutines have ended. An error ends the process.
type controllerStarter func(ctx context.Context, d *controllerDeps) error

// runner runs controllers and holds the Leases that they work under.
type runner struct {
	deps  *controllerDeps
	start controllerStarter
	// times of the Leases.
	times lease.Times
	// fail ends the process.
	fail func(error)
	// running lasts until the controllers have ended and the Leases were given back.
	running sync.WaitGroup
}

// addControllers adds hooks for the controllers: they start when the server does, and when
// it is told to stop they end, and the Leases go back, while it still serves. It returns what
// waits until all have ended: a process that ends before lets the next replica wait until the
// Leases have run out.
func addControllers(server *genericapiserver.GenericAPIServer, d *controllerDeps, fail func(error)) (wait func(), err error) {
	r := &runner{deps: d, start: runControllers, times: leaseTimes(d.alone), fail: fail}
	if d.hostConfig == nil {
		return r.running.Wait, nil
	}
	if err := r.hook(server.AddPostStartHook, server.AddPreShutdownHook); err != nil {
		return nil, fmt.Errorf("adding the %s: %w", controllersHook, err)
	}
	return r.running.Wait, nil
}

// hook adds the hooks. That of the start may come at any time, also after that of the stop.
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
	if !r.deps.store.Await(ctx) {
		return
	}
	err := newLeases(r.deps, r.times, r.fail)
	if err == nil {
		err = r.start(ctx, r.deps)
		r.deps.leases.Close()
	}
	if err != nil && ctx.Err() == nil {
		r.fail(fmt.Errorf("running the %s: %w", controllersHook, err))
	}
}
