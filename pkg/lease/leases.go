// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/lease/fence"
)

// ErrNotHeld means that what was asked for is another process's to do.
var ErrNotHeld = errors.New("this process does not hold the Lease")

// Times say how fast a process that died is replaced, and how long one that cannot reach
// the host cluster goes on. They are those of client-go's leader election.
type Times struct {
	// Duration is how long a Lease that is not renewed is left to its holder,
	// RenewDeadline how long the holder acts on without having renewed it, and RetryPeriod
	// how often it is renewed, and looked at by those who wait for it.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

var (
	// AloneTimes are those of the Kubernetes control plane, for a process that nobody waits
	// to replace.
	AloneTimes = Times{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	// SharedTimes let a process that died be replaced in less than 20 seconds. client-go looks
	// at the Lease of another one every RetryPeriod to 2.2 times that (its JitterFactor). At the
	// worst it has seen the last renewal so much later, sees so much later that the Lease has
	// run out, and is then patient with others: 10 s + 2.2 s + 2.2 s + 2 * 2 s.
	SharedTimes = Times{Duration: 10 * time.Second, RenewDeadline: 7 * time.Second, RetryPeriod: time.Second}
)

// Patience lets a process that holds less find a free Lease first, most of the time.
const Patience = 2 * time.Second

// Options say where Leases are and how they are held. All are required but Patience.
type Options struct {
	// Client and Namespace say where the Leases are.
	Client    kubernetes.Interface
	Namespace string
	// Identity is who holds them.
	Identity string
	// Times of all Leases.
	Times Times
	// Patience is how much longer a Lease of a kind is left to others for each that is
	// held, up to maxPatience times. Zero is for a process that is alone.
	Patience time.Duration
	// Fail is told why the process cannot go on.
	Fail func(error)
}

// Leases are those that this process holds or would hold. Its methods may be called
// concurrently, those that name the same Lease one after the other.
type Leases struct {
	// opts is nil when there is no election: then all are held.
	opts *Options
	// taking is held while a Lease is asked for, so that none is taken beside another.
	taking sync.Mutex

	mu sync.Mutex
	// all are those that were contended for and not withdrawn from.
	all map[string]*lease
	// fences are those of Leases that are contended for, or will be.
	fences map[string]*fence.Fence
	// changed is closed when one becomes held.
	changed chan struct{}
	// watchers are told the names of those.
	watchers map[*func(string)]struct{}
}

// lease is one of them.
type lease struct {
	name string
	// shared is true for one of those that are divided evenly.
	shared bool
	// fence is nil without election.
	fence *fence.Fence
	// withdraw ends the election, ended is closed when it has ended.
	withdraw func()
	ended    chan struct{}

	// Guarded by mu of Leases: held is since when it is, zero before; taken is true from
	// the moment at which the host cluster has said so.
	held  time.Time
	taken bool
}

// New returns Leases of which none is contended for. With nil there is no election, and all
// that are contended for are held.
func New(o *Options) *Leases {
	return &Leases{opts: o, all: map[string]*lease{}, fences: map[string]*fence.Fence{}, changed: make(chan struct{}), watchers: map[*func(string)]struct{}{}}
}

// Contend makes this process hold the Lease of a name as soon as no other one does. It does
// nothing when it was called before. Of Leases that are shared a process takes no more than
// others, if it can.
func (l *Leases) Contend(ctx context.Context, name string, shared bool) {
	l.mu.Lock()
	if l.all[name] != nil {
		l.mu.Unlock()
		return
	}
	e := &lease{name: name, shared: shared, ended: make(chan struct{}), withdraw: func() {}}
	l.all[name] = e
	if l.opts == nil {
		close(e.ended)
		l.mu.Unlock()
		l.hold(e)
		return
	}
	e.fence = l.fence(name)
	// The election outlives ctx: nobody else may start while work here has not ended.
	electing, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.LoggerWithValues(klog.FromContext(ctx), "lease", name)))
	e.withdraw = cancel
	l.mu.Unlock()
	go func() {
		defer close(e.ended)
		l.elect(electing, e)
	}()
}

// hold notes that a Lease is held, and tells who wants to know.
func (l *Leases) hold(e *lease) {
	l.mu.Lock()
	if !e.held.IsZero() || l.all[e.name] != e {
		l.mu.Unlock()
		return // it was renewed after a while, or withdrawn from
	}
	e.held = time.Now()
	close(l.changed)
	l.changed = make(chan struct{})
	var tell []func(string)
	for w := range l.watchers {
		tell = append(tell, *w)
	}
	l.mu.Unlock()
	for _, gained := range tell {
		gained(e.name)
	}
}

// Withdraw gives the Lease of a name back and contends for it no longer. All that was done
// under it must have ended.
func (l *Leases) Withdraw(name string) {
	l.mu.Lock()
	e := l.all[name]
	l.mu.Unlock()
	if e == nil {
		return
	}
	e.fence.Close()
	e.withdraw()
	<-e.ended
	l.mu.Lock()
	delete(l.all, name)
	delete(l.fences, name)
	l.mu.Unlock()
}

// Close withdraws from all Leases. None may be contended for meanwhile or later.
func (l *Leases) Close() {
	l.mu.Lock()
	var names []string
	for name := range l.all {
		names = append(names, name)
	}
	l.mu.Unlock()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { l.Withdraw(name) })
	}
	all.Wait()
}

// Held returns since when the Lease of a name is held, zero if it is not.
func (l *Leases) Held(name string) time.Time {
	e, _ := l.get(name)
	return e.held
}

// Names returns those of the Leases that are held.
func (l *Leases) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names()
}

func (l *Leases) names() []string {
	var held []string
	for name, e := range l.all {
		if !e.held.IsZero() {
			held = append(held, name)
		}
	}
	return held
}

// get returns a copy of what is known of a Lease, and what is closed when another is held.
func (l *Leases) get(name string) (lease, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.all[name]; e != nil {
		return *e, l.changed
	}
	return lease{}, l.changed
}

// Fence returns the fence of a Lease, which is closed before the Lease is contended for. It is nil, and
// so open, without election.
func (l *Leases) Fence(name string) *fence.Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts == nil {
		return nil
	}
	return l.fence(name)
}

// fence returns the fence of a Lease. mu is held.
func (l *Leases) fence(name string) *fence.Fence {
	if l.fences[name] == nil {
		l.fences[name] = fence.New(l.opts.Times.RenewDeadline)
	}
	return l.fences[name]
}

// Bind returns the context for what is done under the Lease of a name, as soon as it may be
// done; requests of fence.Transport are under it then. It returns ErrNotHeld, or
// fence.ErrClosed, for what is not, or no longer, to be done here, and the error of ctx when
// that is done.
func (l *Leases) Bind(ctx context.Context, name string) (context.Context, error) {
	e, _ := l.get(name)
	if e.held.IsZero() {
		return nil, ErrNotHeld
	}
	if err := e.fence.Wait(ctx); err != nil {
		return nil, err
	}
	return fence.NewContext(ctx, e.fence), nil
}

// Await waits until the Lease of a name is held. Its error is that of ctx.
func (l *Leases) Await(ctx context.Context, name string) error {
	for {
		e, changed := l.get(name)
		if !e.held.IsZero() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Watch calls gained with the name of every Lease that is held, or becomes so before ctx is
// done, with some more than once. gained must not block.
func (l *Leases) Watch(ctx context.Context, gained func(name string)) {
	l.mu.Lock()
	l.watchers[&gained] = struct{}{}
	held := l.names()
	l.mu.Unlock()
	for _, name := range held {
		gained(name)
	}
	<-ctx.Done()
	l.mu.Lock()
	delete(l.watchers, &gained)
	l.mu.Unlock()
}
