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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/fence"
	"github.com/slipway-dev/slipway/pkg/storeidentity"
)

// leaseName is the Lease that the controllers run under.
const leaseName = "slipway-controllers"

// leaseTimes say how fast a replica that died is replaced, and how long one that
// cannot reach the host cluster goes on.
type leaseTimes struct{ duration, renewDeadline, retryPeriod time.Duration }

// defaultLeaseTimes are those of the Kubernetes control plane.
var defaultLeaseTimes = leaseTimes{duration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second}

// controllerDeps is what controllers are wired from.
type controllerDeps struct {
	// options are the flags.
	options *Options
	// loopback reaches our own API as a privileged user.
	loopback *rest.Config
	// hostConfig and host reach the host cluster.
	hostConfig *rest.Config
	host       kubernetes.Interface
	// dataDir is the directory that only this process uses, empty with etcd servers
	// that others may use too.
	dataDir string
	// alone is the moment since when nobody but this process works on virtual
	// machines; zero if that cannot be known. With the directory it is given, else
	// it is when the Lease was taken.
	alone time.Time
	// fence is open while it is proved that this process holds the Lease; nil, which is
	// always open, without election.
	fence *fence.Fence
	// store is open when the host cluster knows the store; nil if there is nobody to ask.
	store *storeidentity.Gate
	// health is told how to ask for informers and session.
	health *health
	// mux takes debugging pages, for example /debug/queue; authorization is as for
	// every path.
	mux *mux.PathRecorderMux
	// orphans is told how to find them.
	orphans *orphanReport
}

// controllersHook is the name of what runs the controllers, in health checks and logs.
const controllersHook = "controllers"

// controllerStarter wires and runs controllers and returns when ctx is done and all of
// their goroutines have ended. An error ends the process.
type controllerStarter func(ctx context.Context, d *controllerDeps) error

// leadership runs controllers while the Lease is held.
type leadership struct {
	deps  *controllerDeps
	times leaseTimes
	// fail ends the process.
	fail func(error)
	// elected is closed when the controllers may run.
	elected chan struct{}
	// led makes that happen once.
	led sync.Once
	// running counts the controllers, so that the Lease is kept until all have ended.
	running sync.WaitGroup
	// electing lasts until the Lease was given back.
	electing sync.WaitGroup
}

func makeLeadership(d *controllerDeps, times leaseTimes, fail func(error)) *leadership {
	if d.options.Controllers.LeaderElect {
		d.fence = fence.New(times.renewDeadline)
	}
	return &leadership{deps: d, times: times, fail: fail, elected: make(chan struct{})}
}

// wait waits until the controllers have ended and the Lease was given back: a process
// that ends before lets the next replica wait until the Lease has run out.
func (l *leadership) wait() {
	l.running.Wait()
	l.electing.Wait()
}

// addControllers adds a post-start hook for the controllers and one for the Lease. It
// returns what waits until all controllers have ended.
func addControllers(server *genericapiserver.GenericAPIServer, d *controllerDeps, fail func(error)) (wait func(), err error) {
	l := makeLeadership(d, defaultLeaseTimes, fail)
	if d.hostConfig == nil {
		return l.wait, nil
	}
	if err := server.AddPostStartHook("start-"+controllersHook, l.hook(controllersHook, runControllers)); err != nil {
		return nil, fmt.Errorf("adding the %s: %w", controllersHook, err)
	}
	err = server.AddPostStartHook("start-leader-election", func(hook genericapiserver.PostStartHookContext) error {
		l.electing.Go(func() { l.elect(hook) })
		return nil
	})
	return l.wait, err
}

// hook waits for the Lease and runs controllers.
func (l *leadership) hook(name string, start controllerStarter) genericapiserver.PostStartHookFunc {
	return func(hook genericapiserver.PostStartHookContext) error {
		l.running.Go(func() {
			select {
			case <-hook.Done():
				return
			case <-l.elected:
			}
			ctx := klog.NewContext(hook, klog.LoggerWithName(klog.FromContext(hook), name))
			if err := start(ctx, l.deps); err != nil && hook.Err() == nil {
				l.fail(fmt.Errorf("running the %s: %w", name, err))
			}
		})
		return nil
	}
}

// elect takes the Lease and holds it until every controller has ended. A restored store
// has to be released before, and one that the host cluster does not know accepted: who
// cannot act must not keep others from it. A Lease that could not be renewed in time closes the fence:
// what runs goes on, nothing else starts, and the election is run again. Only when another
// replica has held it meanwhile does the process end, for what it knows is out of date then.
func (l *leadership) elect(ctx context.Context) {
	if !awaitRelease(ctx, l.deps.dataDir) || !l.deps.store.Await(ctx) {
		return
	}
	if !l.deps.options.Controllers.LeaderElect {
		l.lead(ctx)
		return
	}
	// The Lease outlives ctx: another replica must not start while ours still work.
	held, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	go func() {
		<-ctx.Done()
		l.running.Wait()
		release()
	}()
	elector, err := l.elector(ctx, held, func(err error) {
		release()
		l.fail(err)
	})
	if err != nil {
		l.fail(err)
		return
	}
	for held.Err() == nil {
		elector.Run(held)
	}
}

// elector runs elections until done is done.
func (l *leadership) elector(ctx, done context.Context, superseded func(error)) (*leaderelection.LeaderElector, error) {
	identity, err := identity(l.deps.dataDir)
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, l.deps.options.Controllers.LeaderElectNamespace, leaseName,
		l.deps.host.CoreV1(), l.deps.host.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease %s: %w", leaseName, err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.deps.fence.Lock(lock, func() bool { return done.Err() == nil }, superseded), Name: leaseName, ReleaseOnCancel: true,
		LeaseDuration: l.times.duration, RenewDeadline: l.times.renewDeadline, RetryPeriod: l.times.retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { l.lead(ctx) },
			OnStoppedLeading: func() {
				if done.Err() == nil {
					klog.FromContext(ctx).Info("The Lease could not be renewed: nothing is started in vSphere and no status is written until it is", "lease", leaseName)
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election by the Lease %s: %w", leaseName, err)
	}
	return elector, nil
}

// lead starts the controllers, or lets those that run go on.
func (l *leadership) lead(ctx context.Context) {
	l.led.Do(func() {
		klog.FromContext(ctx).Info("Running the controllers")
		if l.deps.fence != nil && l.deps.dataDir == "" {
			// The one before us gave the Lease back when its passes had ended, or ended
			// them before the Lease ran out.
			l.deps.alone = time.Now()
		}
		l.deps.health.lead()
		close(l.elected)
	})
}
