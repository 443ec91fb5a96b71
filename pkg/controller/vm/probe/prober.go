// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

const (
	// DefaultConnections is Options.Connections when that is 0: enough for 10,000 guests of
	// which one in fifty is silent for ten seconds every ten seconds, and far below the
	// usual limit of open files.
	DefaultConnections = 256
	// jitter is the part of a period by which two differ, so that what begins together
	// does not stay together.
	jitter = 0.1
	// retryBase and retryMax bound the growing delay after an error of our own.
	retryBase = time.Second
	retryMax  = time.Minute
)

// Priorities of probes that are due.
const (
	failing = iota
	answering
	unknown
)

// Options configure a Prober.
type Options struct {
	// Connections bounds those that are tried at once; DefaultConnections when 0.
	Connections int
	// Networks are those that may be connected to.
	Networks networks.Networks
	// Dial tries a connection; a real one when nil.
	Dial func(ctx context.Context, to netip.AddrPort) error
}

// outcome is what a probe found.
type outcome struct {
	ready   bool
	message string
}

// probe is that of one virtual machine. target never changes; mu of the Prober guards the
// rest.
type probe struct {
	target Target
	last   outcome
	known  bool
}

// Prober runs the probes that connect to guests.
type Prober struct {
	options Options
	queue   *priorityqueue.Queue[types.NamespacedName]

	mu     sync.Mutex
	probes map[types.NamespacedName]*probe
	// refused are the virtual machines that may not be connected to, with the reason.
	refused map[types.NamespacedName]string

	counts counts
}

// counts is what the metrics show.
type counts struct {
	open, ready, notReady, failed atomic.Int64
}

// New returns a Prober that tries nothing before Run.
func New(o Options) *Prober {
	if o.Connections == 0 {
		o.Connections = DefaultConnections
	}
	if o.Dial == nil {
		o.Dial = dialer(&o.Networks)
	}
	type key = types.NamespacedName
	return &Prober{
		options: o, probes: map[key]*probe{}, refused: map[key]string{},
		queue: priorityqueue.New("readinessprobe",
			priorityqueue.WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[key](retryBase, retryMax))),
	}
}

// Add starts or updates the probe of vm, of which nothing is kept, or ends it if nothing is
// to be connected to. It may be called at every pass: a probe with the same target goes on.
// One whose outcome status tells already takes its turn within a period, so that a restart
// does not try all at once; others are tried at once.
func (p *Prober) Add(vm *vmv1alpha1.VirtualMachine) {
	key := types.NamespacedName{Namespace: vm.Namespace, Name: vm.Name}
	target, err := TargetOf(vm)
	if target == nil {
		p.Remove(key)
		if err != nil {
			p.mu.Lock()
			p.refused[key] = err.Error()
			p.mu.Unlock()
		}
		return
	}
	p.mu.Lock()
	delete(p.refused, key)
	if was := p.probes[key]; was != nil && was.target == *target {
		p.mu.Unlock()
		return
	}
	p.probes[key] = &probe{target: *target}
	p.mu.Unlock()
	opts := priorityqueue.AddOpts{Priority: unknown}
	if answered(vm) {
		opts = priorityqueue.AddOpts{Priority: answering, After: rand.N(target.Period)}
	}
	p.queue.AddWithOpts(opts, key)
}

// answered is true if status tells the outcome of the very probe of vm.
func answered(vm *vmv1alpha1.VirtualMachine) bool {
	c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionProbeSucceeded)
	return c != nil && c.ObservedGeneration == vm.Generation &&
		(c.Reason == vmv1alpha1.ReasonSucceeded || c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonNotReady)
}

// Remove ends the probe of a virtual machine, if there is one.
func (p *Prober) Remove(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.refused, key)
	if p.probes[key] != nil {
		delete(p.probes, key)
		p.queue.Remove(key)
		p.queue.Forget(key)
	}
}

// Result returns the last outcome. Known is false as long as there is none.
func (p *Prober) Result(key types.NamespacedName) (ready, known bool, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why, refused := p.refused[key]; refused {
		return false, true, why
	}
	if of := p.probes[key]; of != nil && of.known {
		return of.last.ready, true, of.last.message
	}
	return false, false, ""
}

// Run tries what is due until ctx is done, and returns when all that it tried has ended. It
// asks wanted before every try, and ends the probe if that is false; it calls changed after
// an outcome that is not as the one before. Neither may block. Run is called at most once.
func (p *Prober) Run(ctx context.Context, wanted func(types.NamespacedName) bool, changed func(types.NamespacedName)) {
	defer context.AfterFunc(ctx, p.queue.ShutDown)()
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, p.options.Connections)
	for {
		// The place comes first: who goes is decided when one can.
		places <- struct{}{}
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		running.Go(func() {
			defer func() { <-places }()
			defer p.queue.Done(key)
			if !wanted(key) {
				p.Remove(key)
				return
			}
			if p.try(ctx, key) {
				changed(key)
			}
		})
	}
}

// try makes one probe and queues the next. It is true when the outcome is another than that
// of before.
func (p *Prober) try(ctx context.Context, key types.NamespacedName) bool {
	p.mu.Lock()
	of := p.probes[key]
	p.mu.Unlock()
	if of == nil {
		return false
	}
	p.counts.open.Add(1)
	limited, cancel := context.WithTimeout(ctx, of.target.Timeout)
	err := p.options.Dial(limited, of.target.Address)
	cancel()
	p.counts.open.Add(-1)
	now, known := judge(&of.target, err)
	p.count(now, known)
	if !known {
		klog.FromContext(ctx).V(2).Info("A readiness probe could not be made", "virtualMachine", key, "err", err)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probes[key] != of {
		return false // it was removed, or is another by now
	}
	if !known {
		p.queue.AddWithOpts(priorityqueue.AddOpts{Priority: failing, RateLimited: true}, key)
		return false
	}
	news := !of.known || of.last != now
	of.last, of.known = now, true
	next := priorityqueue.AddOpts{Priority: failing, After: spread(of.target.Period)}
	if now.ready {
		next.Priority = answering
	}
	p.queue.Forget(key)
	p.queue.AddWithOpts(next, key)
	return news
}

func (p *Prober) count(o outcome, known bool) {
	switch {
	case !known:
		p.counts.failed.Add(1)
	case o.ready:
		p.counts.ready.Add(1)
	default:
		p.counts.notReady.Add(1)
	}
}

// spread is a period, give or take jitter.
func spread(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (1 - jitter + 2*jitter*rand.Float64()))
}
