// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

var errTest = errors.New("test error")

func TestReconcile_IgnoresAMissingVM(t *testing.T) {
	h := newHarness(t)
	if result := h.mustReconcile(); result != (controller.Result{}) {
		t.Errorf("result %+v, want none", result)
	}
	if len(h.provider.requests) != 0 || len(h.api.calls) != 0 {
		t.Errorf("provider called %d times, API calls %v; want none", len(h.provider.requests), h.api.calls)
	}
}

func TestReconcile_DoesNotChangeAPausedVM(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Finalizers = nil
		vm.Annotations = map[string]string{vmv1alpha1.AnnotationPaused: ""}
	}), photon())
	if result := h.mustReconcile(); result != (controller.Result{}) {
		t.Errorf("result %+v, want none", result)
	}
	if len(h.provider.requests) != 0 {
		t.Error("the provider was called")
	}
	vm := h.vm()
	if len(vm.Finalizers) != 0 {
		t.Errorf("finalizers %v, want none", vm.Finalizers)
	}
	if got := h.condition(vmv1alpha1.ConditionPaused); got != "True/Paused" {
		t.Errorf("Paused is %s, want True/Paused", got)
	}
	if vm.Status.PrintableStatus != "Paused" {
		t.Errorf("printableStatus %q, want Paused", vm.Status.PrintableStatus)
	}

	writes := h.api.writes()
	h.mustReconcile()
	if got := h.api.writes(); got != writes {
		t.Errorf("a second reconcile made %d writes", got-writes)
	}

	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations = nil })
	h.mustReconcile()
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionPaused); got != "" {
		t.Errorf("after the pause Paused is %s, want none", got)
	}
}

func TestReconcile_ReportsAPauseByAnAdministratorOnce(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, provider.ErrPaused }
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GuestID = "photon64Guest" })
	h.mustReconcile()
	h.mustReconcile()
	writes := h.api.writes()
	h.mustReconcile()
	if got := h.api.writes(); got != writes {
		t.Errorf("another reconcile made %d writes, want none", got-writes)
	}
	vm := h.vm()
	if got := h.condition(vmv1alpha1.ConditionPaused); got != "True/Paused" || vm.Status.PrintableStatus != "Paused" {
		t.Errorf("Paused is %s and printableStatus %q, want True/Paused and Paused", got, vm.Status.PrintableStatus)
	}
	if got := vm.Status.ObservedGeneration; got == vm.Generation {
		t.Errorf("observedGeneration is %d although nothing of that generation was applied", got)
	}
	h.provider.update = nil
	h.mustReconcile()
	if vm := h.vm(); h.condition(vmv1alpha1.ConditionPaused) != "" || vm.Status.ObservedGeneration != vm.Generation {
		t.Errorf("after the pause Paused is %q and observedGeneration %d of %d", h.condition(vmv1alpha1.ConditionPaused), vm.Status.ObservedGeneration, vm.Generation)
	}
}

func TestReconcile_AddsTheFinalizerFirst(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Finalizers = []string{"example.com/other"} }), photon())
	if result := h.mustReconcile(); result != (controller.Result{Requeue: true}) {
		t.Errorf("result %+v, want an immediate requeue", result)
	}
	if got, want := h.vm().Finalizers, []string{"example.com/other", vmv1alpha1.VirtualMachineFinalizer}; !slices.Equal(got, want) {
		t.Errorf("finalizers %v, want %v", got, want)
	}
	if len(h.provider.requests) != 0 {
		t.Error("the provider was called before the finalizer was stored")
	}
	h.mustReconcile()
	if len(h.provider.requests) != 1 {
		t.Errorf("the provider was called %d times in the next reconcile, want once", len(h.provider.requests))
	}
}

func TestReconcile_PassesACompleteRequestToTheProvider(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
		return ended(nil), nil
	}
	h.mustReconcile()
	if len(h.provider.requests) != 1 {
		t.Fatalf("the provider was called %d times, want once", len(h.provider.requests))
	}
	req := h.provider.requests[0]
	if req.Image == nil || req.Image.Name != "photon" || req.Effective == nil || !req.PrerequisitesReady {
		t.Errorf("request %+v; want image, effective spec and prerequisites, no running instance", req)
	}
	if req.Priority != PriorityCreating || !req.Now.Equal(h.clock) {
		t.Errorf("priority %d at %v, want %d at %v", req.Priority, req.Now, PriorityCreating, h.clock)
	}
	vm := h.vm()
	if vm.Status.Phase != vmv1alpha1.PhaseCreating || vm.Status.ObservedGeneration != 1 {
		t.Errorf("phase %q of generation %d, want Creating of 1", vm.Status.Phase, vm.Status.ObservedGeneration)
	}
	for _, c := range vm.Status.Conditions {
		if c.ObservedGeneration != 1 {
			t.Errorf("condition %s has observedGeneration %d, want 1", c.Type, c.ObservedGeneration)
		}
	}
}

func TestReconcile_CallsTheBlockingMethodIfBlocking(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.blocking = true
	h.mustReconcile()
	if h.provider.blocked != 1 {
		t.Errorf("the blocking method was called %d times, want once", h.provider.blocked)
	}
}

func TestReconcile_RequeuesByProviderError(t *testing.T) {
	tests := map[string]struct {
		err    error
		result controller.Result
		failed bool
	}{
		"none":                           {nil, controller.Result{}, false},
		"operation in progress":          {provider.ErrReconcileInProgress, controller.Result{}, false},
		"too many creates":               {provider.ErrTooManyCreates, controller.Result{}, false},
		"paused by an administrator":     {provider.ErrPaused, controller.Result{}, false},
		"unknown state":                  {provider.ErrUnknownState, controller.Result{RequeueAfter: step.UnreadDelay}, false},
		"requeue after a time":           {&provider.RequeueError{After: 3 * time.Second}, controller.Result{RequeueAfter: 3 * time.Second}, false},
		"requeue immediately":            {&provider.RequeueError{}, controller.Result{Requeue: true}, false},
		"a retry cannot help":            {&provider.NoRequeueError{Err: errTest}, controller.Result{}, false},
		"no retry, no error":             {&provider.NoRequeueError{}, controller.Result{}, false},
		"anything else":                  {errTest, controller.Result{}, true},
		"a failure and a requeue":        {errors.Join(&provider.RequeueError{After: time.Second}, errTest), controller.Result{}, true},
		"a failure and an unknown state": {errors.Join(provider.ErrUnknownState, errTest), controller.Result{}, true},
		"the earlier of two requeues":    {errors.Join(&provider.RequeueError{After: time.Minute}, &provider.RequeueError{After: time.Second}), controller.Result{RequeueAfter: time.Second}, false},
		"a retryable error and another":  {errors.Join(&provider.NoRequeueError{Err: errors.New("other")}, errTest), controller.Result{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(), photon())
			h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, test.err }
			result, err := h.tryReconcile()
			if result != test.result {
				t.Errorf("result %+v, want %+v", result, test.result)
			}
			if test.failed != errors.Is(err, errTest) || test.failed != (err != nil) {
				t.Errorf("error %v, want one: %t", err, test.failed)
			}
			if h.vm().Status.Phase == "" {
				t.Error("the status was not written")
			}
		})
	}
}

func TestReconcile_PrefersItsErrorToTheWriteError(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, errTest }
	h.api.fail["update virtualmachines/status"] = errors.New("write failed")
	_, err := h.tryReconcile()
	if !errors.Is(err, errTest) || strings.Contains(err.Error(), "write failed") {
		t.Errorf("error %v, want only the reconcile's error", err)
	}

	h.provider.update = nil
	if _, err = h.tryReconcile(); err == nil || !strings.Contains(err.Error(), "write failed") {
		t.Errorf("error %v, want the write's error", err)
	}
}

func TestReconcile_RequeuesAfterAConflict(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.behind = true
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Labels = map[string]string{"by": "a user"} })
	result, err := h.tryReconcile()
	if err != nil || result != (controller.Result{RequeueAfter: controller.ShortConflict}) {
		t.Errorf("result %+v and error %v, want a requeue and no error", result, err)
	}
	h.behind = false
	h.mustReconcile()
	vm := h.vm()
	if vm.Labels["by"] != "a user" || vm.Status.ObservedGeneration != 1 {
		t.Errorf("labels %v, observedGeneration %d; want the user's label and 1", vm.Labels, vm.Status.ObservedGeneration)
	}
}

func TestReconcile_ReturnsItsErrorDespiteAConflict(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.api.fail["update virtualmachines/status"] = apierrors.NewConflict(vmResource.GroupResource(), "vm", errors.New("changed"))
	h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, errTest }
	if _, err := h.tryReconcile(); !errors.Is(err, errTest) {
		t.Errorf("error %v, want the reconcile's error", err)
	}
}

// Behaviors F31, F41, F59 of test/behaviours: a failing synchronizer blocks only the create.
func TestReconcile_FailingSynchronizerBlocksOnlyTheCreate(t *testing.T) {
	broken := func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionSynchronized, vmv1alpha1.ReasonError, errTest.Error())
		return vm, errTest
	}

	t.Run("creation", func(t *testing.T) {
		h := newHarness(t, fresh(), photon())
		h.syncs(broken)
		if _, err := h.tryReconcile(); !errors.Is(err, errTest) {
			t.Errorf("error %v, want the synchronizer's error, which is retried", err)
		}
		if req := h.provider.requests[0]; req.PrerequisitesReady {
			t.Error("the provider was allowed to create")
		}
		if got := h.condition(vmv1alpha1.ConditionCreated); got != "False/WaitingForPrerequisites" {
			t.Errorf("Created is %s, want False/WaitingForPrerequisites", got)
		}
	})

	t.Run("power off", func(t *testing.T) {
		h := newHarness(t, running(), photon())
		h.syncs(broken)
		h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState = vmv1alpha1.PoweredOff })
		h.provider.update = func(req *provider.Request) (<-chan error, error) {
			req.VM.Status.PowerState = vmv1alpha1.PoweredOff
			return nil, nil
		}
		_, _ = h.tryReconcile()
		if got := h.vm().Status.Phase; got != vmv1alpha1.PhaseStopped {
			t.Errorf("phase %s, want Stopped", got)
		}
	})
}

// running returns a virtual machine that is created and powered on.
func running(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.UniqueID = "vm-42"
		vm.Status.PowerState = vmv1alpha1.PoweredOn
		vm.Status.NodeName = "esx-1"
		vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.7"}
		for _, c := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionDiskPromotionSynced} {
			setCondition(vm, time.Unix(500, 0), c, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		}
	})
	for _, f := range change {
		f(vm)
	}
	return vm
}

// Behaviors F59 of test/behaviours.
func TestReconcile_PowersOffWithoutAResolvedSize(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU, vm.Spec.Memory, vm.Spec.ClassName = nil, nil, "gone"
		vm.Spec.PowerState = vmv1alpha1.PoweredOff
	}))
	h.mustReconcile()
	if len(h.provider.requests) != 1 || h.provider.requests[0].Effective != nil {
		t.Fatalf("requests %+v, want one without an effective spec", h.provider.requests)
	}
}

// Behaviors F43 of test/behaviours: the status is written with the resource version that the first write returned. The
// server refuses any other.
func TestReconcile_WritesTheSynchronizedSpecOnceBeforeTheStatus(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		vm.Spec.GuestID = "photon64Guest"
		return vm, nil
	})
	h.mustReconcile()
	if got := h.vm().Spec.GuestID; got != "photon64Guest" {
		t.Errorf("spec.guestID %q, want the synchronizer's value", got)
	}
	if a, b := h.api.calls["update virtualmachines"], h.api.calls["update virtualmachines/status"]; a != 1 || b != 1 {
		t.Errorf("%d updates and %d status updates, want one of each", a, b)
	}
	if h.vm().Status.Phase != vmv1alpha1.PhaseRunning {
		t.Errorf("phase %q, want Running", h.vm().Status.Phase)
	}
}
