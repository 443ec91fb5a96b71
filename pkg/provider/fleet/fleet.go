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
	// Run keeps it until ctx is done, and returns when all that it started has ended.
	Run(ctx context.Context)
}

// Placer chooses zones, and so vCenters, for virtual machines that have none.
type Placer interface {
	// Place chooses one, which is in the result.
	Place(ctx context.Context, req *provider.Request) (provider.Result, error)
	// Seen is called for every virtual machine that has a zone and is reconciled.
	Seen(vm *vmv1alpha1.VirtualMachine, now time.Time)
	// Forget drops what is known of a virtual machine that is gone.
	Forget(key provider.Key)
}

// Fleet implements provider.Provider over members by the names of their vCenters.
type Fleet[M Member] struct {
	of     func(*vmv1alpha1.VirtualMachine) string
	placer Placer
	hints  provider.Hints
	// replacing is held for reading while one is; closed is true when none is any more.
	replacing sync.RWMutex
	closed    bool

	mu     sync.Mutex
	berths map[string]*berth[M]
}

// berth is the place of a member.
type berth[M Member] struct {
	// known is true when it was said what is here, there when something is.
	known, there bool
	member       M
	// end makes the member end and waits until it has.
	end func()
	// unsettled are the virtual machines whose last call did not succeed, and those that
	// were only asked about, with the object.
	unsettled map[provider.Key]*vmv1alpha1.VirtualMachine
}

// New returns a Fleet without members. of names the vCenter of a virtual machine; it is empty
// for one whose zone is not there. placer has those that have no zone.
func New[M Member](of func(*vmv1alpha1.VirtualMachine) string, placer Placer) *Fleet[M] {
	return &Fleet[M]{of: of, placer: placer, berths: map[string]*berth[M]{}}
}

// Hint says that a virtual machine is worth another look.
func (f *Fleet[M]) Hint(key provider.Key) { f.hints.Send(key) }

// Run waits until ctx is done and then ends all members. It returns when they have.
func (f *Fleet[M]) Run(ctx context.Context) {
	<-ctx.Done()
	f.replacing.Lock()
	defer f.replacing.Unlock()
	f.closed = true
	var all sync.WaitGroup
	f.mu.Lock()
	for _, b := range f.berths {
		if b.end != nil {
			all.Go(b.end)
		}
	}
	f.mu.Unlock()
	all.Wait()
}

// Use makes open give the provider of the vCenter of a name, after the one before has ended;
// with nil there is none any more. If it fails there is none either. After the end of Run
// nothing is done. Calls with the same name must not overlap.
func (f *Fleet[M]) Use(ctx context.Context, name string, open func() (M, error)) error {
	f.replacing.RLock()
	defer f.replacing.RUnlock()
	if f.closed {
		return nil
	}
	f.leave(name)
	next := berth[M]{known: true, unsettled: map[provider.Key]*vmv1alpha1.VirtualMachine{}}
	var err error
	if open != nil {
		if next.member, err = open(); err == nil {
			next.there, next.end = true, f.run(ctx, next.member)
		}
	}
	f.enter(name, next)
	return err
}

// leave ends the member of a name. What is asked of it from now on waits for the next.
func (f *Fleet[M]) leave(name string) {
	f.mu.Lock()
	b := f.berth(name)
	end := b.end
	b.known, b.there, b.end = false, false, nil
	f.mu.Unlock()
	if end != nil {
		end()
	}
}

// enter puts the next one into its place and wakes who waits for it, unless there is
// nothing to do before it has read its vCenter, which it then tells.
func (f *Fleet[M]) enter(name string, next berth[M]) {
	f.mu.Lock()
	b := f.berth(name)
	waiting := b.unsettled
	*b = next
	f.mu.Unlock()
	for key, vm := range waiting {
		if vm == nil || !next.there || !next.member.Unread(vm) {
			f.hints.Send(key)
		}
	}
}

// run starts a member and returns what ends it.
func (f *Fleet[M]) run(ctx context.Context, m M) (end func()) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	// Its last hints come when it ends.
	watching, deaf := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { m.Run(running) })
	var watched sync.WaitGroup
	watched.Go(func() { m.Watch(watching, func(h provider.Hint) { f.hints.Send(h.Key) }) })
	return func() {
		stop()
		ended.Wait()
		deaf()
		watched.Wait()
	}
}

// berth returns that of a name. mu is held.
func (f *Fleet[M]) berth(name string) *berth[M] {
	b := f.berths[name]
	if b == nil {
		b = &berth[M]{unsettled: map[provider.Key]*vmv1alpha1.VirtualMachine{}}
		f.berths[name] = b
	}
	return b
}

// Members returns those that run, by the names of their vCenters, and whether what every
// vCenter is was said, at least of one.
func (f *Fleet[M]) Members() (members map[string]M, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	members, known = map[string]M{}, len(f.berths) > 0
	for name, b := range f.berths {
		known = known && b.known
		if b.there {
			members[name] = b.member
		}
	}
	return members, known
}

// Known reports whether it was said what the vCenter of a name is, and it is not being replaced.
func (f *Fleet[M]) Known(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.berths[name]
	return b != nil && b.known
}
