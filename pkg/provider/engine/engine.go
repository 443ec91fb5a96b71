// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

const (
	// shutdownGrace is how long operations may continue after the context of Run is done.
	shutdownGrace = 5 * time.Second
	// recheckInterval is the interval of checks for changes that cause no event. firstRecheckDelay is the delay after a
	// first failed check; it doubles with every further failure.
	recheckInterval   = time.Minute
	firstRecheckDelay = 5 * time.Second
)

// Limits are the maximum numbers of concurrent operations, by kind. Operations that only wait for a guest do not count.
// Zero means the default.
type Limits struct {
	// Creates defaults to 12. It is the documented number of concurrent provisioning operations on eight hosts, halved
	// to leave capacity for other clients, and rounded up.
	Creates int
	// Reconfigurations, PowerChanges and Deletes default to 32 each, the maximum number of concurrent calls to vCenter.
	Reconfigurations, PowerChanges, Deletes int
	// Publishes defaults to 4 (judgement). Each publication reads all disks of a virtual machine.
	Publishes int
	// Promotions defaults to 4 (judgement). Each promotion copies whole disks of a running virtual machine.
	Promotions int
	// Snapshots limits the creation and removal of snapshots and reverts, which write memory and disks. Defaults to 8
	// (judgement).
	Snapshots int
	// ImageCopies limits copies of images to datastores. Defaults to 4. vCenter runs at most 8 concurrent copies on a
	// host, and creates also need copies. Source: VMware, "Limits on Simultaneous Migrations": a provisioning
	// operation costs 1 of 8.
	ImageCopies int
}

// Options configure an Engine.
type Options struct {
	// Driver of the hypervisor.
	Driver driver.Driver
	// Limits of operations.
	Limits Limits
	// Permit, if set, returns an error if no operation may start now. Then a reconcile that would start one returns a
	// RequeueError.
	Permit func() error
	// MissingGrace is how long a virtual machine must be missing before it is recreated, or before its object may be
	// deleted. Defaults to one minute.
	MissingGrace time.Duration
	// FindElsewhere, if set, describes a virtual machine in another hypervisor that has the identity of a missing one.
	// It returns an empty string if there is none.
	FindElsewhere func(ctx context.Context, id driver.Identity) (string, error)
	// RecordPause is the minimum age of a stored record before it is rewritten only for labels and annotations.
	// Defaults to one minute.
	RecordPause time.Duration
	// OfferTimeout is how long a free slot is reserved for one object. Defaults to 30 seconds.
	OfferTimeout time.Duration
	// OnOperationEnd, if set, is called after each operation with its duration. It must not block.
	OnOperationEnd func(kind driver.Kind, err error, took time.Duration)
	// Now returns the time for delays. Defaults to time.Now.
	Now func() time.Time
}

// Engine implements provider.Provider over a driver.
type Engine struct {
	opts   Options
	driver driver.Driver
	// started is the start time of this process.
	started time.Time
	hints   provider.EventBroadcaster

	// base is the parent context of operations. It is cancelled at shutdown.
	base context.Context //nolint:containedctx // operations outlive the call that starts them
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	states map[provider.Key]*objectState
	// images are the operations on copies of images, by location.
	images  map[string]*provider.ImageOperation
	slots   map[class]*slotPool
	breaker breaker
	// outage is the current outage of the hypervisor.
	outage outage
	// expiry removes unused offers. It is reset with each new offer.
	expiry *time.Timer
}

var _ provider.Provider = (*Engine)(nil)

// New returns an Engine. It has no observed state until Run is called.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FindElsewhere == nil {
		o.FindElsewhere = func(context.Context, driver.Identity) (string, error) { return "", nil }
	}
	if o.Permit == nil {
		o.Permit = func() error { return nil }
	}
	if o.OfferTimeout <= 0 {
		o.OfferTimeout = 30 * time.Second
	}
	if o.RecordPause <= 0 {
		o.RecordPause = time.Minute
	}
	if o.MissingGrace <= 0 {
		o.MissingGrace = time.Minute
	}
	e := &Engine{opts: o, started: o.Now(), driver: o.Driver, states: map[provider.Key]*objectState{}, images: map[string]*provider.ImageOperation{}, slots: newSlotPools(o.Limits, o.OfferTimeout)}
	e.base, e.end = context.WithCancelCause(context.Background())
	return e
}

// Run runs the driver until ctx is done. Then it waits up to shutdownGrace for operations, leaves the remaining ones to
// the hypervisor, and returns.
func (e *Engine) Run(ctx context.Context) {
	// The driver must run until all operations have ended.
	parts, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { e.driver.Run(parts, e) })
	<-ctx.Done()
	grace, cancel := context.WithTimeout(parts, shutdownGrace)
	defer cancel()
	e.shutdown(grace, context.Cause(ctx))
	stop()
	wg.Wait()
}

// Watch implements provider.Provider.
func (e *Engine) Watch(ctx context.Context, changed func(provider.Event)) {
	e.hints.Watch(ctx, changed)
}

// Healthy implements provider.Provider.
func (e *Engine) Healthy(ctx context.Context) error { return e.driver.Healthy(ctx) }

// Forget implements provider.Provider.
func (e *Engine) Forget(key types.NamespacedName) { e.forget(provider.VirtualMachineKey(key)) }

// IsUnread implements provider.Provider.
func (e *Engine) IsUnread(vm *vmv1alpha1.VirtualMachine) bool {
	if !e.driver.Starting() || e.Unreachable() != nil || e.driver.Observe(identity(vm)).State != driver.Unknown {
		return false
	}
	e.awaitRead(provider.KeyOf(vm), vm.UID)
	return true
}

// CreateOrUpdateVirtualMachine implements provider.Provider.
func (e *Engine) CreateOrUpdateVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	r, err := e.CreateOrUpdateVirtualMachineAsync(ctx, req)
	return provider.Await(ctx, r, err)
}

// CreateOrUpdateVirtualMachineAsync implements provider.Provider.
func (e *Engine) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (provider.Result, error) {
	p := e.newReconciliation(req)
	// An offered slot that is not used goes to the next object.
	defer e.returnUnusedOffers(p.key)
	// The state must be read before the observation, so that the observation is not older than the state.
	err := p.reconcile(ctx, e.driver.Observe(p.desired.Identity))
	return p.Result, err
}

// Changed implements driver.Sink. During an operation it sends no event, because the end of the operation sends one.
func (e *Engine) Changed(name types.NamespacedName) {
	key := provider.VirtualMachineKey(name)
	e.mu.Lock()
	rec := e.states[key]
	busy := rec != nil && rec.running != nil
	e.mu.Unlock()
	if !busy {
		e.hints.Send(key)
	}
}

// Blocked implements driver.Sink.
func (e *Engine) Blocked(name types.NamespacedName) { e.hints.Send(provider.VirtualMachineKey(name)) }

// ReadComplete implements driver.Sink. After a complete read an outage has ended.
func (e *Engine) ReadComplete() {
	e.ObserveConnection(nil, 0)
	e.wakeWaiting()
}

// wakeWaiting sends an event to each object that waits until the hypervisor was read.
func (e *Engine) wakeWaiting() {
	e.mu.Lock()
	var waiting []provider.Key
	for key, rec := range e.states {
		if rec.awaitsRead {
			rec.awaitsRead = false
			waiting = append(waiting, key)
			e.dropIfEmpty(key, rec)
		}
	}
	e.mu.Unlock()
	for _, key := range waiting {
		e.hints.Send(key)
	}
}
