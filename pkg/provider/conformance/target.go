// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// timeout is the maximum time to wait for events.
const timeout = 20 * time.Second

// Target is a provider with its own hypervisor and the functions that the tests need.
type Target struct {
	// Provider under test.
	Provider provider.Provider
	// Start lets the provider read its hypervisor. Until then the state is unknown.
	Start func()
	// Request returns a request with a new UID that can succeed, for a VM that must be powered on.
	Request func(name string) *provider.Request
	// Hold blocks operations until release is called.
	Hold func() (release func())
	// Count returns the number of VMs with the instance UUID.
	Count func(instanceUUID string) int
	// Calls returns the number of requests to the hypervisor that reconciles have caused.
	Calls func() int
}

// MakeTarget returns a target that runs at most createSlots creates concurrently. It ends with the test.
type MakeTarget func(t *testing.T, createSlots int) *Target

// observer receives the events of a target.
type observer struct {
	*Target
	t    *testing.T
	wake chan struct{}

	mu     sync.Mutex
	events []provider.Event
}

func observe(t *testing.T, target *Target) *observer {
	t.Helper()
	o := &observer{Target: target, t: t, wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { target.Provider.Watch(ctx, o.recordEvent) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return o
}

// start creates a target and starts it.
func start(t *testing.T, newTarget MakeTarget, slots int) *observer {
	t.Helper()
	o := observe(t, newTarget(t, slots))
	o.Start()
	return o
}

func (o *observer) recordEvent(h provider.Event) {
	o.mu.Lock()
	o.events = append(o.events, h)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// reconcile runs one reconcile.
func (o *observer) reconcile(req *provider.Request) (<-chan error, error) {
	req.Now = time.Now()
	r, err := o.Provider.CreateOrUpdateVirtualMachineAsync(o.t.Context(), req)
	r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	return r.Ended, err
}

func (o *observer) delete(req *provider.Request) error {
	req.Now = time.Now()
	r, err := o.Provider.DeleteVirtualMachine(o.t.Context(), req)
	r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	return err
}

// until reconciles the requests immediately and after every event, until done returns true.
func (o *observer) until(what string, done func() bool, reqs ...*provider.Request) {
	o.t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		var last error
		after := timeout
		for _, r := range reqs {
			_, err := o.reconcile(r)
			if d, ok := provider.AsRequeue(err); ok {
				after = min(after, d)
			}
			if err != nil {
				last = err
			}
		}
		if done() {
			return
		}
		retry := time.NewTimer(after)
		select {
		case <-o.wake:
		case <-retry.C:
		case <-deadline.C:
			o.t.Fatalf("timeout: no event led to: %s; last error: %v", what, last)
		}
		retry.Stop()
	}
}

// poweredOn returns a function that reports whether all VMs are powered on and have an address.
func poweredOn(reqs ...*provider.Request) func() bool {
	return func() bool {
		for _, r := range reqs {
			n := r.VM.Status.Network
			if r.VM.Status.PowerState != vmv1alpha1.PoweredOn || n == nil || n.PrimaryIP4 == "" && n.PrimaryIP6 == "" {
				return false
			}
		}
		return true
	}
}
