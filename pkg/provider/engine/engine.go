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
	// shutdownGrace is how long operations may go on after the end of Run.
	shutdownGrace = 5 * time.Second
	// recheck is how long what no event tells is left alone; firstRecheck that after a
	// first failure, which doubles.
	recheck      = time.Minute
	firstRecheck = 5 * time.Second
)

// Limits bound the operations that run at once, by kind; what only waits for a guest
// does not count. Zero means the default.
type Limits struct {
	// Creates defaults to 12: vCenter's documented number of provisioning operations
	// that eight hosts take at once, halved for other clients and rounded up.
	Creates int
	// Reconfigurations, PowerChanges and Deletes default to 32 each, which is as many as
	// the calls that go to vCenter at once.
	Reconfigurations, PowerChanges, Deletes int
	// Publishes defaults to 4: each reads all disks of a virtual machine (judgement).
	Publishes int
	// Promotions of disks copy whole disks while their virtual machines run, so that few at
	// once are best for these. Defaults to 4 (judgement).
	Promotions int
	// Snapshots that are taken, removed or reverted to write memory and disks. Defaults to 8
	// (judgement).
	Snapshots int
	// ImageCopies are copies of images to datastores. Defaults to 4: vCenter does at most 8 copies on a host at the
	// same time (VMware, "Limits on Simultaneous Migrations": a provisioning operation costs 1 of 8), and creates
	// need some of them.
	ImageCopies int
}

// Options configure an Engine.
type Options struct {
	// Driver of the hypervisor.
	Driver driver.Driver
	// Limits of operations.
	Limits Limits
	// Permit, if set, says whether an operation may start now. While it returns an error
	// passes that would start one return a RequeueError.
	Permit func() error
	// MissingGrace is how long a virtual machine has to be missing before it is made
	// again, or before its object may go. Defaults to a minute.
	MissingGrace time.Duration
	// Elsewhere, if set, describes a virtual machine in another hypervisor that has the identity
	// of one which this one does not show; empty for none.
	Elsewhere func(ctx context.Context, id driver.Identity) (string, error)
	// RecordPause is how long a record that was just written stays while no more than labels
	// and annotations of its object change. Defaults to a minute.
	RecordPause time.Duration
	// OfferTimeout bounds how long a free place is kept for one object. Defaults to 30
	// seconds.
	OfferTimeout time.Duration
	// Ended, if set, is told of every operation that has ended, and how long it took. It must
	// not block.
	Ended func(kind driver.Kind, err error, took time.Duration)
	// Now is the clock of pauses; time.Now when nil.
	Now func() time.Time
}

// Engine implements provider.Provider over a driver.
type Engine struct {
	opts   Options
	driver driver.Driver
	// started is when this process began.
	started time.Time
	hints   provider.Hints

	// base ends when operations shall.
	base context.Context //nolint:containedctx // operations outlive the call that starts them
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	records map[provider.Key]*record
	// images are the operations on copies of images, by location.
	images map[string]*provider.ImageOperation
	places map[class]*places
	brake  brake
	// lost is the present outage of the hypervisor.
	lost outage
	// expiry looks for offers that nobody took, after the last one.
	expiry *time.Timer
}

var _ provider.Provider = (*Engine)(nil)

// New returns an Engine that knows nothing before Run.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func(context.Context, driver.Identity) (string, error) { return "", nil }
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
	e := &Engine{opts: o, started: o.Now(), driver: o.Driver, records: map[provider.Key]*record{}, images: map[string]*provider.ImageOperation{}, places: newPlaces(o.Limits, o.OfferTimeout)}
	e.base, e.end = context.WithCancelCause(context.Background())
	return e
}

// Run keeps the driver until ctx is done. Then it gives operations a moment to end,
// leaves the others to the hypervisor, and returns.
func (e *Engine) Run(ctx context.Context) {
	// Operations need the driver until they have ended.
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
func (e *Engine) Watch(ctx context.Context, changed func(provider.Hint)) { e.hints.Watch(ctx, changed) }

// Healthy implements provider.Provider.
func (e *Engine) Healthy(ctx context.Context) error { return e.driver.Healthy(ctx) }

// Forget implements provider.Provider.
func (e *Engine) Forget(key types.NamespacedName) { e.forget(provider.VirtualMachineKey(key)) }

// Unread implements provider.Provider.
func (e *Engine) Unread(vm *vmv1alpha1.VirtualMachine) bool {
	if !e.driver.Starting() || e.Unreachable() != nil || e.driver.Look(identity(vm)).State != driver.Unknown {
		return false
	}
	e.await(provider.KeyOf(vm), vm.UID)
	return true
}

// CreateOrUpdateVirtualMachine implements provider.Provider.
func (e *Engine) CreateOrUpdateVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	r, err := e.CreateOrUpdateVirtualMachineAsync(ctx, req)
	return provider.Await(ctx, r, err)
}

// CreateOrUpdateVirtualMachineAsync implements provider.Provider.
func (e *Engine) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (provider.Result, error) {
	p := e.newPass(req)
	// A place that was offered and is not used goes to the next.
	defer e.passed(p.key)
	// The record first: what is seen afterwards is not older than what it says.
	err := p.reconcile(ctx, e.driver.Look(p.want.Identity))
	return p.Result, err
}

// Changed implements driver.Sink. While an operation runs its end is the hint.
func (e *Engine) Changed(name types.NamespacedName) {
	key := provider.VirtualMachineKey(name)
	e.mu.Lock()
	rec := e.records[key]
	busy := rec != nil && rec.running != nil
	e.mu.Unlock()
	if !busy {
		e.hints.Send(key)
	}
}

// Blocked implements driver.Sink.
func (e *Engine) Blocked(name types.NamespacedName) { e.hints.Send(provider.VirtualMachineKey(name)) }

// Read implements driver.Sink. Everything was read, so that an outage has ended.
func (e *Engine) Read() {
	e.ObserveConnection(nil, 0)
	e.wakeAwaiting()
}

// wakeAwaiting queues the objects that wait until the hypervisor was read.
func (e *Engine) wakeAwaiting() {
	e.mu.Lock()
	var waiting []provider.Key
	for key, rec := range e.records {
		if rec.awaits {
			rec.awaits = false
			waiting = append(waiting, key)
			e.tidy(key, rec)
		}
	}
	e.mu.Unlock()
	for _, key := range waiting {
		e.hints.Send(key)
	}
}
