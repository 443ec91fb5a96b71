// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// lifeSteps is the number of reconciles in which lifeOf gets a virtual machine its address.
const lifeSteps = 5

// lifeOf simulates a virtual machine in vSphere from its creation to its address, one step per reconcile. Like a real
// provider it reports the whole state each time.
func lifeOf(h *harness) {
	step := 0
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		step++
		vm, now := req.VM, req.Now
		switch step {
		case 1:
			setFalse(vm, now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonTooManyCreates, "")
			return nil, provider.ErrTooManyCreates
		case 2:
			setFalse(vm, now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
			return ended(nil), nil
		}
		setTrue(vm, now, vmv1alpha1.ConditionCreated)
		setTrue(vm, now, vmv1alpha1.ConditionConfigurationSynced)
		setTrue(vm, now, vmv1alpha1.ConditionDiskPromotionSynced)
		vm.Status.UniqueID, vm.Status.PowerState = "vm-42", vmv1alpha1.PoweredOff
		if step == 3 {
			setFalse(vm, now, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonPoweringOn, "")
			return ended(nil), nil
		}
		setTrue(vm, now, vmv1alpha1.ConditionPowerStateSynced)
		vm.Status.PowerState, vm.Status.NodeName = vmv1alpha1.PoweredOn, "esx-1"
		if step >= lifeSteps {
			vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.7", HostName: "vm"}
		}
		return nil, nil
	}
}

// The budget is five writes: waiting for a slot, being created, created, running, with an address.
func TestPersist_WritesAVMFiveTimesFromCreateToAddress(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	lifeOf(h)
	for range lifeSteps {
		h.mustReconcile()
	}
	vm := h.vm()
	if got := h.condition(vmv1alpha1.ConditionReady); got != "True/Succeeded" {
		t.Fatalf("Ready is %s, want True/Succeeded", got)
	}
	if vm.Status.Phase != vmv1alpha1.PhaseRunning || vm.Status.Initialization == nil || !*vm.Status.Initialization.Provisioned {
		t.Errorf("phase %s, initialization %v; want Running and provisioned", vm.Status.Phase, vm.Status.Initialization)
	}
	if got := h.api.writes(); got != 5 {
		t.Errorf("%d writes of the virtual machine, want 5", got)
	}
	if got := h.api.calls["update virtualmachines"]; got != 0 {
		t.Errorf("%d writes of spec or metadata, want none", got)
	}
}

func TestReconcile_MakesNoCallsForAStableVM(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	lifeOf(h)
	for range lifeSteps + 1 {
		h.mustReconcile()
	}
	clear(h.api.calls)
	h.host.ClearActions()
	before := h.vm()
	h.mustReconcile()
	if len(h.api.calls) != 0 || len(h.host.Actions()) != 0 {
		t.Errorf("calls %v and host calls %v, want none", h.api.calls, h.host.Actions())
	}
	if got := h.vm().ResourceVersion; got != before.ResourceVersion {
		t.Errorf("resource version %s, was %s", got, before.ResourceVersion)
	}
}

// Behaviors F43 of test/behaviours: the cache of the second reconcile lacks the write of the first. With the cache's
// resource version, the write would be refused.
func TestReconcile_SeesOwnWritesBeforeTheCache(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.behind = true
	lifeOf(h)
	for range lifeSteps {
		h.mustReconcile()
	}
	if got := h.condition(vmv1alpha1.ConditionReady); got != "True/Succeeded" {
		t.Errorf("Ready is %s, want True/Succeeded", got)
	}
	if got := h.api.calls["create virtualmachineinstances"]; got != 1 {
		t.Errorf("%d creates of the instance, want 1", got)
	}
	if got := len(h.events.take()); got != 2 {
		t.Errorf("%d events, want one Created and one PoweredOn", got)
	}
}

func TestPersist_KeepsTransitionTimesOfUnchangedConditions(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	first := findCondition(h.vm(), vmv1alpha1.ConditionReady).LastTransitionTime
	h.clock = h.clock.Add(time.Hour)
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GuestID = "photon64Guest" })
	h.mustReconcile()
	ready := findCondition(h.vm(), vmv1alpha1.ConditionReady)
	if !ready.LastTransitionTime.Equal(&first) || ready.ObservedGeneration != 2 {
		t.Errorf("transition %v of generation %d, want %v of 2", ready.LastTransitionTime, ready.ObservedGeneration, first)
	}
}

// Behaviors F42 of test/behaviours.
func TestPersist_WritesBothReferencesInOneUpdate(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small"}
		vm.Status.PreferenceRef = &vmv1alpha1.PreferenceRef{Name: "linux"}
		return vm, nil
	})
	h.mustReconcile()
	if vm := h.vm(); vm.Status.InstancetypeRef == nil || vm.Status.PreferenceRef == nil {
		t.Errorf("references %+v, %+v; want both", vm.Status.InstancetypeRef, vm.Status.PreferenceRef)
	}
	if a, b := h.api.calls["update virtualmachines"], h.api.calls["update virtualmachines/status"]; a != 0 || b != 1 {
		t.Errorf("%d updates and %d status updates, want one status update", a, b)
	}
}

func TestPersist_IgnoresADeletedVM(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.behind = true
	if err := h.api.Tracker().Delete(vmResource, "ns", "vm"); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
}

// For example, references are replaced by their settings and the API refuses some of these.
func TestPersist_WritesTheStatusIfTheObjectIsRefused(t *testing.T) {
	ref := &vmv1alpha1.InstancetypeRef{Name: "small"}
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.InstancetypeRef = ref }), photon())
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		vm.Annotations, vm.Status.InstancetypeRef = map[string]string{"a": "b"}, nil
		return vm, nil
	})
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		setTrue(req.VM, req.Now, vmv1alpha1.ConditionCreated)
		req.VM.Status.UniqueID = "vm-42"
		return nil, nil
	}
	h.api.fail["update virtualmachines"] = apierrors.NewInvalid(vmv1alpha1.Kind("VirtualMachine"), "vm", nil)
	if _, err := h.tryReconcile(); err == nil {
		t.Error("it is not retried")
	}
	vm := h.vm()
	if got := h.condition(vmv1alpha1.ConditionSynchronized); got != "False/Error" || vm.Status.UniqueID != "vm-42" || vm.Status.InstancetypeRef == nil {
		t.Errorf("Synchronized %q, vSphere VM %q, reference %v; want the reason, the ID, and the reference of the spec", got, vm.Status.UniqueID, vm.Status.InstancetypeRef)
	}
	if len(vm.Annotations) != 0 {
		t.Errorf("annotations %v", vm.Annotations)
	}
}
