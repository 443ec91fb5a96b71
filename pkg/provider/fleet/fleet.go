// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"sync"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Member is the provider of one vCenter.
type Member interface {
	provider.Provider
	provider.Publisher
	provider.Snapshotter
	// Run runs the provider until ctx is done. It returns when everything that it has started has ended.
	Run(ctx context.Context)
}

// Placer chooses zones, and thus vCenters, for virtual machines without a zone.
type Placer interface {
	// Place chooses a zone and returns it in the result.
	Place(ctx context.Context, req *provider.Request) (provider.Result, error)
	// ObserveVM is called for every reconciled virtual machine that has a zone.
	ObserveVM(vm *vmv1alpha1.VirtualMachine, now time.Time)
	// Forget removes the state of a deleted virtual machine.
	Forget(key provider.Key)
}

// Fleet implements provider.Provider with one member per vCenter, by name.
type Fleet[M Member] struct {
	vcenterOf func(*vmv1alpha1.VirtualMachine) string
	placer    Placer
	hints     provider.EventBroadcaster
	// replacing is held for reading while a member is replaced. closed is true after Run has ended.
	replacing sync.RWMutex
	closed    bool

	mu    sync.Mutex
	slots map[string]*memberSlot[M]
}

// memberSlot is the slot of one vCenter.
type memberSlot[M Member] struct {
	// isKnown is true if it is known whether the vCenter is configured. hasMember is true if the vCenter has a member.
	isKnown, hasMember bool
	member             M
	// end stops the member and waits until it has ended.
	end func()
	// unsettled are the virtual machines whose last call failed. A virtual machine
	// for which only IsUnread was called is stored with its object.
	unsettled map[provider.Key]*vmv1alpha1.VirtualMachine
}

// New returns a Fleet without members. of returns the name of the vCenter of a virtual machine; it is empty if its zone
// does not exist. placer handles virtual machines without a zone.
func New[M Member](of func(*vmv1alpha1.VirtualMachine) string, placer Placer) *Fleet[M] {
	return &Fleet[M]{vcenterOf: of, placer: placer, slots: map[string]*memberSlot[M]{}}
}

// Hint sends an event for a virtual machine.
func (f *Fleet[M]) Hint(key provider.Key) { f.hints.Send(key) }

// Run waits until ctx is done and then stops all members. It returns when they have ended.
func (f *Fleet[M]) Run(ctx context.Context) {
	<-ctx.Done()
	f.replacing.Lock()
	defer f.replacing.Unlock()
	f.closed = true
	var all sync.WaitGroup
	f.mu.Lock()
	for _, b := range f.slots {
		if b.end != nil {
			all.Go(b.end)
		}
	}
	f.mu.Unlock()
	all.Wait()
}

// Use replaces the provider of a vCenter. It stops the previous provider, waits until it has ended, and calls open.
// If open is nil or fails, the vCenter has no provider. After Run has ended it does nothing. Calls with the same name
// must not overlap.
func (f *Fleet[M]) Use(ctx context.Context, name string, open func() (M, error)) error {
	f.replacing.RLock()
	defer f.replacing.RUnlock()
	if f.closed {
		return nil
	}
	f.stopMember(name)
	next := memberSlot[M]{isKnown: true, unsettled: map[provider.Key]*vmv1alpha1.VirtualMachine{}}
	var err error
	if open != nil {
		if next.member, err = open(); err == nil {
			next.hasMember, next.end = true, f.run(ctx, next.member)
		}
	}
	f.setMember(name, next)
	return err
}

// stopMember stops the member of a vCenter. From now on calls for it return ErrUnknownState until the next member is
// set.
func (f *Fleet[M]) stopMember(name string) {
	f.mu.Lock()
	b := f.slot(name)
	end := b.end
	b.isKnown, b.hasMember, b.end = false, false, nil
	f.mu.Unlock()
	if end != nil {
		end()
	}
}

// setMember sets the next member and sends events to the waiting virtual machines. It omits those that must wait until
// the member has read its vCenter, because the member sends these events itself.
func (f *Fleet[M]) setMember(name string, next memberSlot[M]) {
	f.mu.Lock()
	b := f.slot(name)
	waiting := b.unsettled
	*b = next
	f.mu.Unlock()
	for key, vm := range waiting {
		if vm == nil || !next.hasMember || !next.member.IsUnread(vm) {
			f.hints.Send(key)
		}
	}
}

// run starts a member and returns a function that stops it.
func (f *Fleet[M]) run(ctx context.Context, m M) (end func()) {
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	// Watching continues until the member has ended, because it sends events while it ends.
	watchCtx, stopWatch := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { m.Run(runCtx) })
	var watch sync.WaitGroup
	watch.Go(func() { m.Watch(watchCtx, func(h provider.Event) { f.hints.Send(h.Key) }) })
	return func() {
		stop()
		ended.Wait()
		stopWatch()
		watch.Wait()
	}
}

// slot returns the slot of a vCenter. The caller holds mu.
func (f *Fleet[M]) slot(name string) *memberSlot[M] {
	b := f.slots[name]
	if b == nil {
		b = &memberSlot[M]{unsettled: map[provider.Key]*vmv1alpha1.VirtualMachine{}}
		f.slots[name] = b
	}
	return b
}

// Members returns the running members by vCenter name. known is true if there is at least one vCenter and the
// configuration of every vCenter is known.
func (f *Fleet[M]) Members() (members map[string]M, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	members, known = map[string]M{}, len(f.slots) > 0
	for name, b := range f.slots {
		known = known && b.isKnown
		if b.hasMember {
			members[name] = b.member
		}
	}
	return members, known
}

// Known reports whether the configuration of a vCenter is known and its member is not being replaced.
func (f *Fleet[M]) Known(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.slots[name]
	return b != nil && b.isKnown
}
