// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func annotated(key string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{key: "true"}
	}
}

// probes is a prober that counts its calls.
type probes struct{ added, removed int }

func (p *probes) Add(*vmv1alpha1.VirtualMachine) { p.added++ }
func (p *probes) Remove(types.NamespacedName)    { p.removed++ }
func (p *probes) Run(context.Context, func(types.NamespacedName) bool, func(types.NamespacedName)) {
}
func (p *probes) Result(types.NamespacedName) (bool, bool, string) { return false, false, "" }

func TestDeletion_RemovesVMInstanceAndFinalizer(t *testing.T) {
	h := newHarness(t, running(), photon())
	prober := &probes{}
	h.probe.Connections = prober
	h.mustReconcile()
	if h.api.vmi("vm") == nil {
		t.Fatal("the instance was not created")
	}
	h.events.take()
	h.api.markDeleted("vm")

	if result := h.mustReconcile(); result != (controller.Result{}) {
		t.Errorf("result %+v, want none", result)
	}
	if h.provider.deletes != 1 {
		t.Errorf("the provider deleted %d times, want once", h.provider.deletes)
	}
	if h.api.vm("vm") != nil || h.api.vmi("vm") != nil {
		t.Error("the virtual machine or the instance still exists")
	}
	if got := h.events.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal Deleted: The vSphere virtual machine is deleted: ") {
		t.Errorf("events %q, want one Deleted", got)
	}
	if prober.removed != 1 {
		t.Errorf("the probe was removed %d times, want once", prober.removed)
	}
	h.mustReconcile() // the object no longer exists
	if prober.removed != 2 || h.provider.deletes != 1 {
		t.Errorf("probe removed %d times, deletes %d; want a second cleanup and no second delete", prober.removed, h.provider.deletes)
	}
}

// The response to its create was lost, or another process has just created it.
func TestDeletion_RemovesAnInstanceThatTheCacheLacks(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.api.markDeleted("vm")
	h.refresh()
	h.behind = true
	existing := instance.New(h.vm(), &vmv1alpha1.VirtualMachineInstanceSpec{})
	if _, err := h.api.VmV1alpha1().VirtualMachineInstances("ns").Create(t.Context(), existing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
	if h.api.vm("vm") != nil || h.api.vmi("vm") != nil {
		t.Errorf("the virtual machine exists: %t, its instance: %t", h.api.vm("vm") != nil, h.api.vmi("vm") != nil)
	}
}

func TestDeletion_DoesNothingForAPausedVM(t *testing.T) {
	h := newHarness(t, running(annotated(vmv1alpha1.AnnotationPaused)))
	h.api.markDeleted("vm")
	if result := h.mustReconcile(); result != (controller.Result{}) {
		t.Errorf("result %+v, want none", result)
	}
	if h.provider.deletes != 0 || !hasFinalizer(h.vm()) {
		t.Error("the paused virtual machine was deleted")
	}
	if got := h.condition(vmv1alpha1.ConditionPaused); got != "True/Paused" {
		t.Errorf("Paused is %s, want True/Paused", got)
	}
}

func TestPausedDeletion_ReportsItsReason(t *testing.T) {
	for name, tc := range map[string]struct {
		vm       func(*vmv1alpha1.VirtualMachine)
		provider error
		message  string
	}{
		"by the annotation":             {annotated(vmv1alpha1.AnnotationPaused), nil, "deletion is paused by annotation vm.slipway.dev/paused"},
		"by the annotation of Machines": {annotated(clusterv1alpha1.PausedAnnotation), nil, "deletion is paused by annotation cluster.x-k8s.io/paused"},
		"in vSphere":                    {annotated("x"), provider.ErrPaused, provider.ErrPaused.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(tc.vm))
			h.provider.remove = func(*provider.Request) error { return tc.provider }
			h.api.markDeleted("vm")
			h.mustReconcile()
			ready := findCondition(h.vm(), vmv1alpha1.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != vmv1alpha1.ReasonPaused || ready.Message != tc.message {
				t.Errorf("Ready is %+v, want False/Paused %q", ready, tc.message)
			}
			if got := h.vm().Status.PrintableStatus; got != "DeletionPaused" {
				t.Errorf("printableStatus %q, want DeletionPaused", got)
			}
			h.provider.remove = func(*provider.Request) error { return provider.ErrReconcileInProgress }
			h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations = nil })
			h.mustReconcile()
			if ready, paused := h.condition(vmv1alpha1.ConditionReady), h.condition(vmv1alpha1.ConditionPaused); ready != "False/Deleting" || paused != "" {
				t.Errorf("after the pause Ready is %s and Paused %q, want False/Deleting and none", ready, paused)
			}
		})
	}
}

func TestDeletion_ReportsAnAnnotationThatBlocksIt(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{vmv1alpha1.CheckDeletePrefix + "backup": "the nightly copy runs"}
	}), photon())
	h.api.markDeleted("vm")
	h.provider.seen = func(req *provider.Request) { req.VM.Status.NodeName = "esx-2" }
	for range 2 {
		if result := h.mustReconcile(); result != (controller.Result{}) {
			t.Errorf("result %+v, want none: a change of the annotation queues it", result)
		}
	}
	if h.provider.deletes != 0 || !hasFinalizer(h.vm()) {
		t.Error("the virtual machine was deleted")
	}
	c := findCondition(h.vm(), vmv1alpha1.ConditionReady)
	if c == nil || c.Reason != vmv1alpha1.ReasonHeldByCheck ||
		c.Message != "deletion is held by annotation delete.check.vm.slipway.dev/backup (the nightly copy runs)" {
		t.Errorf("Ready is %+v, want the annotation that blocks the deletion", c)
	}
	if got := h.vm().Status.NodeName; got != "esx-2" {
		t.Errorf("the node is %q, want the current node in vSphere", got)
	}
	if got := h.vm().Status.PrintableStatus; got != "DeletionHeldByCheck" {
		t.Errorf("printable status %q, want DeletionHeldByCheck", got)
	}
	if got := h.events.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal DeletionHeld: ") {
		t.Errorf("events %q, want one DeletionHeld", got)
	}
	vm := h.vm()
	delete(vm.Annotations, vmv1alpha1.CheckDeletePrefix+"backup")
	if err := h.api.store(vmResource, vm); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
	if h.provider.deletes != 1 || h.api.vm("vm") != nil {
		t.Errorf("without the annotation: %d deletes, object deleted: %t; want one delete and a deleted object", h.provider.deletes, h.api.vm("vm") == nil)
	}
}

func TestDeletion_OnlyCleansUpWithoutFinalizer(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) { vm.Finalizers = []string{"example.com/other"} }))
	prober := &probes{}
	h.probe.Connections = prober
	h.api.markDeleted("vm")
	h.mustReconcile()
	if h.provider.deletes != 0 || h.vm().Status.Phase != vmv1alpha1.PhaseDeleting {
		t.Errorf("deletes %d, phase %s; want none, and Deleting", h.provider.deletes, h.vm().Status.Phase)
	}
	if got := h.events.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning Deleted: ") || !strings.Contains(got[0], "is kept") {
		t.Errorf("events %q, want one that states that the vSphere VM is kept", got)
	}
	if prober.removed != 1 {
		t.Errorf("the probe was removed %d times, want once", prober.removed)
	}
	writes := h.api.writes()
	h.mustReconcile()
	if got := h.events.take(); len(got) != 0 || h.api.writes() != writes {
		t.Errorf("another reconcile recorded %q and made %d writes, want neither", got, h.api.writes()-writes)
	}
}

func TestDeletion_ReportsThatVCenterDoesNotAnswer(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.api.markDeleted("vm")
	answer := error(provider.ErrUnknownState)
	h.provider.remove = func(*provider.Request) error { return answer }
	const message = `the deletion continues when vCenter responds: VCenter "east" is not connected: connection refused`
	h.provider.removed.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonUnreachable, message)
	h.mustReconcile()
	if c := findCondition(h.vm(), vmv1alpha1.ConditionReady); c.Status != metav1.ConditionFalse || c.Reason != vmv1alpha1.ReasonUnreachable || c.Message != message {
		t.Errorf("Ready is %+v, want the provider's condition", c)
	}
	if got := h.vm().Status.PrintableStatus; got != "DeletionUnreachable" {
		t.Errorf("STATUS is %s, want DeletionUnreachable", got)
	}
	writes := h.api.writes()
	h.mustReconcile()
	if n := h.api.writes() - writes; n != 0 {
		t.Errorf("%d writes of an unchanged status, want none", n)
	}
	answer, h.provider.removed = provider.ErrReconcileInProgress, provider.Result{}
	h.mustReconcile()
	if c := findCondition(h.vm(), vmv1alpha1.ConditionReady); c.Reason != vmv1alpha1.ReasonDeleting || c.Message != "" || h.vm().Status.PrintableStatus != "Deleting" {
		t.Errorf("afterwards Ready is %+v, STATUS %s", c, h.vm().Status.PrintableStatus)
	}
}

func TestDeletion_IsReportedOnceWithAnotherFinalizer(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Finalizers = append(vm.Finalizers, "example.com/other")
	}), photon())
	h.api.markDeleted("vm")
	h.mustReconcile()
	h.mustReconcile()
	if got := h.events.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal Deleted: ") {
		t.Errorf("events %q, want one Deleted", got)
	}
}

func TestDeletion_UsesTheRunningGracePeriod(t *testing.T) {
	grace := int64(7)
	h := newHarness(t, running(), photon())
	h.provider.update = nil
	h.mustReconcile()
	vmi := h.api.vmi("vm")
	vmi.Spec.TerminationGracePeriodSeconds = &grace
	if err := h.api.store(vmiResource, vmi); err != nil {
		t.Fatal(err)
	}
	var got *int64
	h.provider.remove = func(req *provider.Request) error {
		if req.Effective != nil {
			got = req.Effective.TerminationGracePeriodSeconds
		}
		return nil
	}
	h.api.markDeleted("vm")
	h.mustReconcile()
	if got == nil || *got != grace {
		t.Errorf("the provider got the grace period %v, want %d", got, grace)
	}
}

func TestDeletion_KeepsTheVSphereVMIfAnnotated(t *testing.T) {
	h := newHarness(t, running(annotated(vmv1alpha1.AnnotationSkipDelete)))
	h.api.markDeleted("vm")
	h.mustReconcile()
	if h.provider.deletes != 0 || h.api.vm("vm") != nil {
		t.Errorf("deletes %d, object deleted: %t; want no delete and a deleted object", h.provider.deletes, h.api.vm("vm") == nil)
	}
	if got := h.events.take(); len(got) != 1 || !strings.Contains(got[0], "is kept") {
		t.Errorf("events %q, want one that states that the vSphere VM is kept", got)
	}
}

func TestDeletion_HandlesErrors(t *testing.T) {
	tests := map[string]struct {
		err    error
		result controller.Result
		failed bool
		event  string
	}{
		"operation in progress waits for its end": {err: provider.ErrReconcileInProgress},
		"paused in vSphere ends without retry":    {err: provider.ErrPaused, event: "Normal DeletionHeld: " + provider.ErrPaused.Error()},
		"requeue":                                 {err: &provider.RequeueError{After: time.Second}, result: controller.Result{RequeueAfter: time.Second}},
		"a retry cannot help":                     {err: &provider.NoRequeueError{Err: errTest}, event: "Warning DeleteFailed: test error"},
		"anything else is retried":                {err: errTest, failed: true, event: "Warning DeleteFailed: test error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running())
			h.provider.remove = func(*provider.Request) error { return test.err }
			h.api.markDeleted("vm")
			result, err := h.tryReconcile()
			if result != test.result || test.failed != errors.Is(err, errTest) {
				t.Errorf("result %+v and error %v, want %+v and error: %t", result, err, test.result, test.failed)
			}
			if !hasFinalizer(h.vm()) || h.vm().Status.Phase != vmv1alpha1.PhaseDeleting {
				t.Errorf("finalizers %v, phase %s; want Slipway's finalizer kept and Deleting", h.vm().Finalizers, h.vm().Status.Phase)
			}
			if got := strings.Join(h.events.take(), "\n"); got != test.event {
				t.Errorf("events %q, want %q", got, test.event)
			}
			_, _ = h.tryReconcile()
			if got := h.events.take(); len(got) != 0 {
				t.Errorf("the same failure was reported again: %q", got)
			}
		})
	}
}

// Behaviors F58 of test/behaviours.
func TestDeletion_ReadsNoReferencedObjects(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU, vm.Spec.Memory, vm.Spec.ClassName = nil, nil, "gone"
		vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "gone"}}}
		vm.Status.Conditions = nil
	}))
	h.syncs(func(*vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		return nil, errTest
	})
	h.api.markDeleted("vm")
	h.mustReconcile()
	if h.api.vm("vm") != nil {
		t.Error("the virtual machine still exists")
	}
	if got := h.host.Actions(); len(got) != 0 {
		t.Errorf("calls of the management cluster: %v", got)
	}
}

func TestDeletion_IsDoneOnceWithAnotherFinalizer(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Finalizers = append(vm.Finalizers, metav1.FinalizerOrphanDependents)
	}))
	h.api.markDeleted("vm")
	h.mustReconcile()
	h.mustReconcile()
	if got := h.events.take(); len(got) != 1 {
		t.Errorf("events %q, want one", got)
	}
	if got := h.vm().Finalizers; len(got) != 1 || h.provider.deletes != 1 {
		t.Errorf("finalizers %v after %d deletes, want the other finalizer after one delete", got, h.provider.deletes)
	}
}
