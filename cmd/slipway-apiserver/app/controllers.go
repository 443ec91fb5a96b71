// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/leases"
	"github.com/slipway-dev/slipway/pkg/quota"
	"github.com/slipway-dev/slipway/pkg/storeidentity"
)

// controllerDeps is what controllers are wired from.
type controllerDeps struct {
	// options are the flags.
	options *Options
	// loopback reaches our own API as a privileged user.
	loopback *rest.Config
	// hostConfig and host reach the host cluster.
	hostConfig *rest.Config
	host       kubernetes.Interface
	// hostInformers watch it, and charges measure for its ResourceQuotas.
	hostInformers informers.SharedInformerFactory
	charges       *quota.Evaluators
	// dataDir is the directory that only this process uses, empty with etcd servers
	// that others may use too.
	dataDir string
	// alone is the moment since when nobody but this process works on virtual
	// machines, if the directory says so; else it is when the Lease of a vCenter was
	// taken, or cannot be known.
	alone time.Time
	// leases divide the work among replicas. They are there when controllers start.
	leases *leases.Leases
	// store is open when the host cluster knows the store; nil if there is nobody to ask.
	store *storeidentity.Gate
	// health is told how to ask for informers and session.
	health *health
	// mux takes debugging pages, for example /debug/queue; authorization is as for
	// every path.
	mux *mux.PathRecorderMux
	// orphans is told how to find them.
	orphans *orphanReport
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
	times leases.Times
	// fail ends the process.
	fail func(error)
	// running lasts until the controllers have ended and the Leases were given back.
	running sync.WaitGroup
}

// addControllers adds a post-start hook for the controllers. It returns what waits until all
// have ended and the Leases were given back: a process that ends before lets the next
// replica wait until they have run out.
func addControllers(server *genericapiserver.GenericAPIServer, d *controllerDeps, fail func(error)) (wait func(), err error) {
	r := &runner{deps: d, start: runControllers, times: leaseTimes(d.dataDir), fail: fail}
	if d.hostConfig == nil {
		return r.running.Wait, nil
	}
	err = server.AddPostStartHook("start-"+controllersHook, func(hook genericapiserver.PostStartHookContext) error {
		r.running.Go(func() { r.run(klog.NewContext(hook, klog.LoggerWithName(klog.FromContext(hook), controllersHook))) })
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("adding the %s: %w", controllersHook, err)
	}
	return r.running.Wait, nil
}

// run runs the controllers until ctx is done. A restored store has to be released before,
// and one that the host cluster does not know accepted: who cannot act must not keep others
// from it.
func (r *runner) run(ctx context.Context) {
	if !awaitRelease(ctx, r.deps.dataDir) || !r.deps.store.Await(ctx) {
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
