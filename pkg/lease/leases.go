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

// ErrNotHeld is returned if this process does not hold the Lease.
var ErrNotHeld = errors.New("this process does not hold the Lease")

// Times determine how soon a process that died is replaced, and how long a process without a connection to the
// management cluster may continue. They are parameters of client-go's leader election.
type Times struct {
	// Duration is how long other processes wait for a renewal before they acquire the Lease. RenewDeadline is how long
	// the holder acts without a renewal. RetryPeriod is the interval of renewals, and of the reads of waiting
	// processes.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

var (
	// AloneTimes are the times for a single replica. They are the defaults of the Kubernetes control plane.
	AloneTimes = Times{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	// SharedTimes are the times for several replicas. A process that died is replaced in less than 20 seconds.
	// client-go reads the Lease of another process at intervals of RetryPeriod to 2.2 times that (its JitterFactor). In
	// the worst case it reads both the last renewal and the expiry one interval late, and then waits for Patience
	// twice: 10 s + 2.2 s + 2.2 s + 2 * 2 s.
	SharedTimes = Times{Duration: 10 * time.Second, RenewDeadline: 7 * time.Second, RetryPeriod: time.Second}
)

// Patience is long enough that the process with fewer Leases usually acquires a free Lease.
const Patience = 2 * time.Second

// Options configure Leases. All fields are required except Patience.
type Options struct {
	// Client and Namespace access the Leases.
	Client    kubernetes.Interface
	Namespace string
	// Identity is the name of this process as a holder.
	Identity string
	// Times applies to all Leases.
	Times Times
	// Patience is how long the process waits before it acquires a free Lease, for each shared Lease that it holds, up to
	// maxPatience. A single replica uses zero.
	Patience time.Duration
	// Fail is called with the reason if the process cannot continue.
	Fail func(error)
}

// Leases are the Leases that this process holds or contends for. Methods can be called concurrently, except for methods
// with the name of the same Lease.
type Leases struct {
	// opts is nil if there is no election. Then all Leases are held.
	opts *Options
	// acquiring is held while a Lease is requested, so that Leases are acquired one at a time.
	acquiring sync.Mutex

	mu sync.Mutex
	// all has the Leases that this process contends for, by name.
	all map[string]*lease
	// fences has the fences by the name of the Lease. A fence can exist before Contend.
	fences map[string]*fence.Fence
	// changed is closed when a Lease becomes held.
	changed chan struct{}
	// watchers are called with the name of a Lease that becomes held.
	watchers map[*func(string)]struct{}
}

// lease is a Lease that this process contends for.
type lease struct {
	name string
	// shared is true for Leases that processes divide evenly.
	shared bool
	// fence is nil without election.
	fence *fence.Fence
	// withdraw ends the election, ended is closed when it has ended.
	withdraw func()
	ended    chan struct{}

	// held is the time since when the Lease is held, or zero; acquired is set when the API server has accepted the
	// request. Both are guarded by Leases.mu.
	held     time.Time
	acquired bool
}

// New returns Leases. If the options are nil, there is no election, and Contend makes a Lease held immediately.
func New(o *Options) *Leases {
	return &Leases{opts: o, all: map[string]*lease{}, fences: map[string]*fence.Fence{}, changed: make(chan struct{}), watchers: map[*func(string)]struct{}{}}
}

// Contend starts an election for the Lease of a name, unless there is one already. Processes try to divide shared Leases
// evenly.
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
	// The election outlives ctx: no other process may start before the work of this process has ended.
	electing, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.LoggerWithValues(klog.FromContext(ctx), "lease", name)))
	e.withdraw = cancel
	l.mu.Unlock()
	go func() {
		defer close(e.ended)
		l.elect(electing, e)
	}()
}

// hold records that a Lease is held, and calls the watchers.
func (l *Leases) hold(e *lease) {
	l.mu.Lock()
	if !e.held.IsZero() || l.all[e.name] != e {
		l.mu.Unlock()
		return // the Lease was renewed late, or Withdraw was called
	}
	e.held = time.Now()
	close(l.changed)
	l.changed = make(chan struct{})
	var watchers []func(string)
	for w := range l.watchers {
		watchers = append(watchers, *w)
	}
	l.mu.Unlock()
	for _, gained := range watchers {
		gained(e.name)
	}
}

// Withdraw releases the Lease of a name and ends its election. All work under the Lease must have ended.
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

// Close withdraws from all Leases. Contend must not be called during or after it.
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

// Held returns the time since when the Lease of a name is held, or zero.
func (l *Leases) Held(name string) time.Time {
	e, _ := l.get(name)
	return e.held
}

// Names returns the names of the held Leases.
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

// get returns a copy of a lease, and a channel that is closed when another Lease becomes held.
func (l *Leases) get(name string) (lease, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.all[name]; e != nil {
		return *e, l.changed
	}
	return lease{}, l.changed
}

// Fence returns the fence of a Lease. It is closed before Contend is called. Without election it is nil, which is an
// open fence.
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

// Bind returns a context for work under the Lease of a name, as soon as the process may act. Requests of
// fence.Transport with this context are fenced by the Lease. It returns ErrNotHeld if the Lease is not held,
// fence.ErrClosed if it was lost, and the error of ctx when ctx is done.
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

// Await waits until the Lease of a name is held. It returns the error of ctx when ctx is done.
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

// Watch calls gained with the name of each Lease that is held or becomes held before ctx is done. It can call gained
// more than once for a Lease. gained must not block.
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
