// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// oneEach is a shard in which each virtual machine has its own vCenter, with the virtual machine's name.
type oneEach struct {
	held map[string]bool
	// permitted is closed when reconciles are permitted.
	permitted chan struct{}
}

func (b oneEach) IsOwned(vcenter string) bool { return b.held[vcenter] }

func (b oneEach) Bind(ctx context.Context, vcenter string) (context.Context, error) {
	if !b.held[vcenter] {
		return nil, errors.New("it belongs to another process")
	}
	select {
	case <-b.permitted:
		return context.WithValue(ctx, boundKey{}, vcenter), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b oneEach) Watch(context.Context, func(string)) {}

type boundKey struct{}

func titled(name string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Name = name }
}

func TestShard_VMsOfAnotherProcessAreNeitherQueuedNorChanged(t *testing.T) {
	a := assembleWith(t, &scripted{})
	shares := oneEach{held: map[string]bool{"mine": true}}
	a.enqueuer.IsOwned = func(vm *vmv1alpha1.VirtualMachine) bool { return shares.IsOwned(vm.Name) }
	handler := a.enqueuer.Handler()
	for _, name := range []string{"mine", "theirs"} {
		vm := fresh(titled(name))
		changed := fresh(titled(name))
		changed.ResourceVersion, changed.Generation = "2", 2
		handler.OnAdd(vm, true)
		handler.OnAdd(vm, false)
		handler.OnUpdate(vm, changed)
		handler.OnDelete(changed)
	}
	if diff := cmp.Diff([]handedOut{{"mine", PriorityCreating}}, a.drain()); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}

	h := newHarness(t, fresh(), photon())
	h.shard = shares
	if result := h.mustReconcile(); result != (controller.Result{}) || len(h.provider.requests) != 0 || h.api.writes() != 0 {
		t.Errorf("result %+v, %d calls, %d writes; want none for a virtual machine of another process",
			result, len(h.provider.requests), h.api.writes())
	}
}

func TestShard_GainedVMsAreQueuedLikeTheInitialList(t *testing.T) {
	a := assembleWith(t, &scripted{})
	shares := oneEach{held: map[string]bool{}}
	a.enqueuer.IsOwned = func(vm *vmv1alpha1.VirtualMachine) bool { return shares.IsOwned(vm.Name) }
	for _, name := range []string{"one", "two"} {
		vm := fresh(titled(name))
		if err := a.deps.Informers.Vm().V1alpha1().VirtualMachines().Informer().GetIndexer().Add(vm); err != nil {
			t.Fatal(err)
		}
		a.enqueuer.Handler().OnAdd(vm, true)
	}
	if got := a.drain(); len(got) != 0 {
		t.Errorf("queued %v before a shard is held", got)
	}
	shares.held["two"] = true
	a.enqueuer.EnqueueGained(func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Name == "two" })
	if diff := cmp.Diff([]handedOut{{"two", controller.PriorityDefaultCreate}}, a.drain()); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// Behaviors F2 of test/behaviours.
func TestShard_ReconcilesWaitForPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, fresh(), photon())
		shares := oneEach{held: map[string]bool{"vm": true}, permitted: make(chan struct{})}
		h.shard = shares
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { close(shares.permitted) })
		h.mustReconcile()
		if time.Since(began) != 5*time.Second || len(h.provider.requests) != 1 {
			t.Errorf("%d calls after %s, want one as soon as reconciles are permitted", len(h.provider.requests), time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		shares.permitted = make(chan struct{})
		h.shard = shares
		if _, err := h.Reconcile(ctx, testKey); !errors.Is(err, context.Canceled) || len(h.provider.requests) != 1 {
			t.Errorf("%d calls, %v; want none more before the end", len(h.provider.requests), err)
		}
	})
}
