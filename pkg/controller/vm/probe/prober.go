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
	// DefaultConnections is the default of Options.Connections. It is enough for 10,000 guests that are probed every
	// ten seconds and of which 2% do not respond within ten seconds. It is far below the usual limit of open files.
	DefaultConnections = 256
	// jitter is the relative variation of a period. It spreads probes that start at the same time.
	jitter = 0.1
	// retryBase and retryMax are the minimum and maximum backoff after a local error.
	retryBase = time.Second
	retryMax  = time.Minute
)

// Priorities of due probes.
const (
	priorityFailing = iota
	priorityAnswering
	priorityUnknown
)

// Options configures a Prober.
type Options struct {
	// Connections is the maximum number of concurrent connection attempts. The default is DefaultConnections.
	Connections int
	// Networks are the networks that may be connected to.
	Networks networks.Networks
	// Dial tries a connection. By default it opens a real one.
	Dial func(ctx context.Context, to netip.AddrPort) error
}

// outcome is the result of a probe.
type outcome struct {
	ready   bool
	message string
}

// probe is the probe of one virtual machine. target never changes. Prober.mu guards the other fields.
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
	// refused has the virtual machines that may not be connected to, with the reason.
	refused map[types.NamespacedName]string

	counts counts
}

// counts has the values of the metrics.
type counts struct {
	open, ready, notReady, failed atomic.Int64
}

// New returns a Prober that connects to nothing before Run.
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

// Add starts or updates the probe of vm, or ends it if there is nothing to connect to. It keeps no reference to vm. It
// can be called at every reconcile: a probe with the same target continues. If the status already has the probe's
// result, the first attempt is at a random time within a period, so that a restart does not start all probes at the
// same time. Otherwise the first attempt starts immediately.
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
	opts := priorityqueue.AddOpts{Priority: priorityUnknown}
	if hasResult(vm) {
		opts = priorityqueue.AddOpts{Priority: priorityAnswering, After: rand.N(target.Period)}
	}
	p.queue.AddWithOpts(opts, key)
}

// hasResult reports whether the status has the result of the current probe of vm.
func hasResult(vm *vmv1alpha1.VirtualMachine) bool {
	c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionProbeSucceeded)
	return c != nil && c.ObservedGeneration == vm.Generation &&
		(c.Reason == vmv1alpha1.ReasonSucceeded || c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonNotReady)
}

// Remove ends the probe of a virtual machine, if it has one.
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

// Result returns the last result. known is false if there is none.
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

// Run runs due probes until ctx is done, and returns when all attempts have ended. It calls wanted before each attempt
// and ends the probe if wanted returns false. It calls changed after each result that differs from the previous one.
// Both functions must not block. Run must be called at most once.
func (p *Prober) Run(ctx context.Context, wanted func(types.NamespacedName) bool, changed func(types.NamespacedName)) {
	defer context.AfterFunc(ctx, p.queue.ShutDown)()
	var running sync.WaitGroup
	defer running.Wait()
	connections := make(chan struct{}, p.options.Connections)
	for {
		// Wait for a free connection first, so that the key is chosen when it can be probed.
		connections <- struct{}{}
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		running.Go(func() {
			defer func() { <-connections }()
			defer p.queue.Done(key)
			if !wanted(key) {
				p.Remove(key)
				return
			}
			if p.runProbe(ctx, key) {
				changed(key)
			}
		})
	}
}

// runProbe runs a probe once and queues the next attempt. It reports whether the result differs from the previous one.
func (p *Prober) runProbe(ctx context.Context, key types.NamespacedName) bool {
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
	now, known := classifyError(&of.target, err)
	p.count(now, known)
	if !known {
		klog.FromContext(ctx).V(2).Info("A readiness probe could not be run", "virtualMachine", key, "err", err)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probes[key] != of {
		return false // it was removed or replaced in the meantime
	}
	if !known {
		p.queue.AddWithOpts(priorityqueue.AddOpts{Priority: priorityFailing, RateLimited: true}, key)
		return false
	}
	news := !of.known || of.last != now
	of.last, of.known = now, true
	next := priorityqueue.AddOpts{Priority: priorityFailing, After: spread(of.target.Period)}
	if now.ready {
		next.Priority = priorityAnswering
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

// spread returns a period with a random variation of up to jitter.
func spread(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (1 - jitter + 2*jitter*rand.Float64()))
}
