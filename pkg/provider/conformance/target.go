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

// timeout bounds one wait for hints.
const timeout = 20 * time.Second

// Target is a provider over a hypervisor of its own, with what a test needs
// around it.
type Target struct {
	// Provider under test.
	Provider provider.Provider
	// Start lets the provider read its hypervisor. Before, nothing is known.
	Start func()
	// Request returns a request that can succeed, with a new UID, for a VM that
	// shall run.
	Request func(name string) *provider.Request
	// Hold keeps operations from reaching the hypervisor until release.
	Hold func() (release func())
	// Count returns how many VMs have the instance UUID.
	Count func(instanceUUID string) int
	// Calls returns how often the hypervisor was asked for anything by passes.
	Calls func() int
}

// MakeTarget makes a target that runs at most createSlots creates at once and
// ends with the test.
type MakeTarget func(t *testing.T, createSlots int) *Target

// observer receives the hints of a target.
type observer struct {
	*Target
	t    *testing.T
	wake chan struct{}

	mu    sync.Mutex
	hints []provider.Hint
}

func observe(t *testing.T, target *Target) *observer {
	t.Helper()
	o := &observer{Target: target, t: t, wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { target.Provider.Watch(ctx, o.hint) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return o
}

// start makes a target and begins.
func start(t *testing.T, newTarget MakeTarget, slots int) *observer {
	t.Helper()
	o := observe(t, newTarget(t, slots))
	o.Start()
	return o
}

func (o *observer) hint(h provider.Hint) {
	o.mu.Lock()
	o.hints = append(o.hints, h)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// pass runs one pass.
func (o *observer) pass(req *provider.Request) (<-chan error, error) {
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

// until passes over the requests at first and at every hint, until done.
func (o *observer) until(what string, done func() bool, reqs ...*provider.Request) {
	o.t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		var last error
		after := timeout
		for _, r := range reqs {
			_, err := o.pass(r)
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
			o.t.Fatalf("no hint led to: %s; last error: %v", what, last)
		}
		retry.Stop()
	}
}

// on is true when all run with an address.
func on(reqs ...*provider.Request) func() bool {
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
