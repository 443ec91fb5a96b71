// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/test/catalogue"
)

// submitters is the number of concurrent clients.
const submitters = 8

// longestBurst is the time limit for a burst in which some machines do not get an address.
const longestBurst = 30 * time.Minute

// machine returns a virtual machine as a user would write it.
func machine(namespace, name string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: catalogue.Small, Kind: "VirtualMachineInstancetype"},
			Preference:   &vmv1alpha1.PreferenceMatcher{Name: catalogue.Linux, Kind: "VirtualMachinePreference"},
			Image:        &vmv1alpha1.VirtualMachineImageRef{Name: catalogue.Item},
		},
	}
}

func poweredOnWithAddress(vm *vmv1alpha1.VirtualMachine) bool {
	n := vm.Status.Network
	return vm.Status.PowerState == vmv1alpha1.PoweredOn && n != nil && n.PrimaryIP4 != ""
}

// burst measures machines that are submitted together.
type burst struct {
	machines int
	// submitted is the time until the last response. all is the time until the last machine is powered on with an
	// address.
	submitted, all time.Duration
	// each is that time of every machine from its own request, sorted.
	each []time.Duration
	// spent is the cost until the queues are empty.
	spent sample
}

func (e *environment) burst(ctx context.Context, namespace string, n int) (burst, error) {
	progress("%s: submitting %d machines", namespace, n)
	ctx, cancel := context.WithTimeoutCause(ctx, longestBurst, fmt.Errorf("%s: not all of %d machines were powered on with an address after %s", namespace, n, longestBurst))
	defer cancel()
	if err := e.cluster.Apply(ctx, catalogue.Manifests(namespace)); err != nil {
		return burst{}, err
	}
	watcher, err := e.watch(ctx, namespace)
	if err != nil {
		return burst{}, err
	}
	if _, err := e.idle(ctx); err != nil {
		return burst{}, err
	}
	before, err := e.sample(ctx)
	if err != nil {
		return burst{}, err
	}
	b := burst{machines: n}
	begin := time.Now()
	if err := e.submit(ctx, namespace, n, watcher); err != nil {
		return b, err
	}
	b.submitted = time.Since(begin)
	last, err := watcher.wait(ctx, n)
	if err != nil {
		return b, fmt.Errorf("%w; %s", err, watcher)
	}
	b.all, b.each = last.Sub(begin), watcher.durations()
	if _, err := e.idle(ctx); err != nil {
		return b, err
	}
	after, err := e.sample(ctx)
	if err != nil {
		return b, err
	}
	b.spent = after.since(before)
	e.machines += n
	progress("%s: all powered on with an address after %s", namespace, b.all.Round(time.Millisecond))
	return b, nil
}

// submit creates machines with as many clients as there are submitters.
func (e *environment) submit(ctx context.Context, namespace string, n int, w *watcher) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(submitters)
	for i := range n {
		name := fmt.Sprintf("vm-%05d", i)
		g.Go(func() error {
			w.submitted(name, time.Now())
			vm := machine(namespace, name)
			if e.made != nil {
				e.made(vm)
			}
			_, err := e.users.VmV1alpha1().VirtualMachines(namespace).Create(ctx, vm, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// watcher records when machines of a namespace are powered on with an address.
type watcher struct {
	mu sync.Mutex
	// begun and ready are by name.
	begun, ready map[string]time.Time
	last         time.Time
	changed      chan struct{}
}

// watch follows one namespace until ctx is done.
func (e *environment) watch(ctx context.Context, namespace string) (*watcher, error) {
	w := &watcher{begun: map[string]time.Time{}, ready: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	factory := externalversions.NewSharedInformerFactoryWithOptions(e.direct, 0, externalversions.WithNamespace(namespace))
	informer := factory.Vm().V1alpha1().VirtualMachines().Informer()
	see := func(obj any) {
		if vm, ok := obj.(*vmv1alpha1.VirtualMachine); ok && poweredOnWithAddress(vm) {
			w.see(vm.Name, time.Now())
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watching %s: %w", namespace, err)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching %s: %w", namespace, context.Cause(ctx))
	}
	return w, nil
}

func (w *watcher) submitted(name string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[name] = at
}

func (w *watcher) see(name string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.ready[name]; known {
		return
	}
	w.ready[name], w.last = at, at
	select {
	case w.changed <- struct{}{}:
	default: // one wake-up is enough
	}
}

// wait returns when n machines are ready, with the time at which the last one was.
func (w *watcher) wait(ctx context.Context, n int) (time.Time, error) {
	for {
		w.mu.Lock()
		ready, last := len(w.ready), w.last
		w.mu.Unlock()
		if ready >= n {
			return last, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
}

func (w *watcher) durations() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]time.Duration, 0, len(w.ready))
	for name, at := range w.ready {
		all = append(all, at.Sub(w.begun[name]))
	}
	slices.Sort(all)
	return all
}

// String returns the progress.
func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d of %d submitted machines are ready", len(w.ready), len(w.begun))
}
