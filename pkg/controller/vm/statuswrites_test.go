// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// creating returns a virtual machine whose create has started.
func creating() *vmv1alpha1.VirtualMachine {
	return fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.Phase = vmv1alpha1.PhaseCreating
		setFalse(vm, time.Unix(500, 0), vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
	})
}

// poweringOn returns a provider function that reports a newly created virtual machine. It returns err, or starts the
// power on if err is nil.
func poweringOn(err error) func(*provider.Request) (<-chan error, error) {
	return func(req *provider.Request) (<-chan error, error) {
		setTrue(req.VM, req.Now, vmv1alpha1.ConditionCreated)
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonPoweringOn, "")
		req.VM.Status.UniqueID, req.VM.Status.PowerState = "vm-42", vmv1alpha1.PoweredOff
		if err != nil {
			return nil, err
		}
		return ended(nil), nil
	}
}

// Each intermediate state that a reconcile observes is written immediately.
func TestReconcile_WritesThatTheVMIsCreatedWhenPowerOnStarts(t *testing.T) {
	h := newHarness(t, creating(), photon())
	h.provider.update = poweringOn(nil)
	if got, want := h.mustReconcile(), (controller.Result{}); got != want {
		t.Errorf("result %+v, want %+v: the end of the operation is an event", got, want)
	}
	if vm := h.vm(); vm.Status.Phase != vmv1alpha1.PhaseStarting || vm.Status.UniqueID != "vm-42" {
		t.Errorf("phase %s of %q, want Starting of vm-42", vm.Status.Phase, vm.Status.UniqueID)
	}
	if got := h.events.take(); len(got) != 1 || got[0] != "Normal Created: The vSphere virtual machine is created: vm-42" {
		t.Errorf("events %q, want one Created", got)
	}
	h.provider.update = poweringOn(provider.ErrReconcileInProgress)
	before := h.api.writes()
	h.mustReconcile()
	if got := h.api.writes() - before; got != 0 {
		t.Errorf("%d writes while the power on runs, want none", got)
	}
}

func TestReconcile_WritesTheStartOfADelayedCreate(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.Phase = vmv1alpha1.PhasePending
		setFalse(vm, time.Unix(500, 0), vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonTooManyCreates, "waiting for a slot")
	}), photon())
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
		return ended(nil), nil
	}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionCreated); got != "False/Creating" {
		t.Errorf("Created is %s, want False/Creating", got)
	}
}

func TestReconcile_WritesCreatedIfNoOperationFollows(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		change func(*vmv1alpha1.VirtualMachine)
	}{
		"power on failed":          {err: errors.New("no host is compatible")},
		"power on will be retried": {err: &provider.RequeueError{After: 5}},
		"metadata must be stored":  {change: func(vm *vmv1alpha1.VirtualMachine) { vm.Labels = map[string]string{"a": "b"} }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, creating(), photon())
			h.provider.update = poweringOn(c.err)
			if c.change != nil {
				h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
					vm = vm.DeepCopy()
					c.change(vm)
					return vm, nil
				})
			}
			_, _ = h.tryReconcile()
			if got := h.condition(vmv1alpha1.ConditionCreated); got != "True/Succeeded" {
				t.Errorf("Created is %s, want True/Succeeded", got)
			}
		})
	}
}

func TestReconcile_WritesOperationsOfAnExistingVMImmediately(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonRestarting, "")
		return ended(nil), nil
	}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionPowerStateSynced); got != "False/Restarting" {
		t.Errorf("PowerStateSynced is %s, want False/Restarting", got)
	}
}

func TestReconcile_CreatesAMissingVMInTheNextReconcile(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "")
		req.VM.Status.PowerState = ""
		return nil, nil
	}
	if got, want := h.mustReconcile(), (controller.Result{Requeue: true}); got != want {
		t.Errorf("result %+v, want %+v: no event will queue it, and the image must be read", got, want)
	}
	h.mustReconcile()
	if last := h.provider.requests[len(h.provider.requests)-1]; !last.PrerequisitesReady || last.Image == nil {
		t.Errorf("ready %t with image %v, want all inputs of a create", last.PrerequisitesReady, last.Image)
	}
}

// choosingZone is a provider that is choosing a zone.
type choosingZone struct{ *scripted }

func (choosingZone) CreateOrUpdateVirtualMachineAsync(context.Context, *provider.Request) (provider.Result, error) {
	return provider.Result{}, provider.ErrReconcileInProgress
}

// A virtual machine that adopts a VM needs no addresses for that. Without a stored name of the claim, each reconcile
// would request the next one immediately while the zone is being chosen.
func TestReconcile_StoresClaimNamesWhileAZoneIsChosen(t *testing.T) {
	vm := pooled("front")
	vm.Spec.InstanceUUID = "11111111-2222-3333-4444-666666666666"
	h := newHarness(t, vm, photon())
	h.pools.err = &addressclaim.WaitError{Message: "the claim waits"}
	h.reconciler.provider = choosingZone{h.provider}
	h.mustReconcile()
	if diff := cmp.Diff([]string{"eth0 front"}, claimed(h.vm())); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if got, want := h.mustReconcile(), (controller.Result{RequeueAfter: controller.Recheck}); got != want {
		t.Errorf("result %+v, want %+v: the claim is read again", got, want)
	}
}
