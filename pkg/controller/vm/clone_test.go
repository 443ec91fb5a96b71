// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func cloneOf(name, snapshot string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: vmv1alpha1.MachineImageKind, Name: name, Snapshot: snapshot}
	}
}

// origin returns a virtual machine that can be cloned.
func origin(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := fresh(named("source"))
	vm.UID, vm.Spec.PowerState = "source-uid", vmv1alpha1.PoweredOff
	vm.Status.PowerState, vm.Status.InstanceUUID, vm.Status.UniqueID = vmv1alpha1.PoweredOff, "4c4c4544-0001", "vm-1"
	vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue, Reason: "Succeeded"}}
	for _, c := range change {
		c(vm)
	}
	return vm
}

func TestClone_WaitsUntilItsSourceCanBeCloned(t *testing.T) {
	type change = func(*vmv1alpha1.VirtualMachine)
	none := change(func(*vmv1alpha1.VirtualMachine) {})
	on := change(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = vmv1alpha1.PoweredOn })
	for name, tc := range map[string]struct {
		source      *vmv1alpha1.VirtualMachine
		snapshot    string
		want        string
		wantMessage string
	}{
		"powered off":            {origin(none), "", "True/Succeeded", ""},
		"snapshot, powered on":   {origin(on), "before", "True/Succeeded", ""},
		"does not exist":         {nil, "", "False/NotFound", `"source" does not exist in namespace "ns"`},
		"powered on":             {origin(on), "", "False/NotReady", "is PoweredOn"},
		"suspended":              {origin(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = vmv1alpha1.Suspended }), "", "False/NotReady", "is Suspended"},
		"about to be powered on": {origin(func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState = vmv1alpha1.PoweredOn }), "", "False/NotReady", "about to be powered on"},
		"not created":            {origin(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Conditions = nil }), "", "False/NotReady", "is not created"},
		"missing in vSphere": {origin(func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.Conditions[0].Status = metav1.ConditionUnknown
		}), "", "False/NotReady", "is not created"},
		"being deleted": {origin(func(vm *vmv1alpha1.VirtualMachine) {
			now := metav1.Now()
			vm.DeletionTimestamp, vm.Finalizers = &now, []string{"x"}
		}), "", "False/NotFound", "is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(cloneOf("source", tc.snapshot)))
			if tc.source != nil {
				if err := h.api.Tracker().Add(tc.source); err != nil {
					t.Fatal(err)
				}
			}
			result := h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionImageReady); got != tc.want {
				t.Errorf("ImageReady is %s, want %s", got, tc.want)
			}
			if c := findCondition(h.vm(), vmv1alpha1.ConditionImageReady); !strings.Contains(c.Message, tc.wantMessage) {
				t.Errorf("message %q, want %q", c.Message, tc.wantMessage)
			}
			req := h.provider.requests[0]
			if ready := tc.want[:4] == "True"; req.CanStartCreate != ready || (req.CloneOf != nil) != ready || (req.Image != nil) != ready {
				t.Errorf("ready %t with %+v and image %v, want %t", req.CanStartCreate, req.CloneOf, req.Image, ready)
			}
			if !req.CanCompleteCreate {
				t.Error("an existing clone waits for its source")
			}
			if result != (controller.Result{}) {
				t.Errorf("result %+v, want none: an event of the source queues the clone", result)
			}
		})
	}
}

func TestClone_UsesTheSourceInItsNamespace(t *testing.T) {
	h := newHarness(t, fresh(cloneOf("source", "before")), origin())
	h.mustReconcile()
	want := &provider.CloneSource{
		NamespacedName: types.NamespacedName{Namespace: "ns", Name: "source"}, UID: "source-uid", InstanceUUID: "4c4c4544-0001", Snapshot: "before",
	}
	if diff := cmp.Diff(want, h.provider.requests[0].CloneOf); diff != "" {
		t.Errorf("source of the clone (-want +got):\n%s", diff)
	}
}

func TestClone_IsQueuedByEventsOfItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t, origin(), fresh(named("clone"), cloneOf("source", "")), fresh(named("other"), cloneOf("another", "")), origin(named("made"), cloneOf("source", "")))
		a.watch(t)
		a.drain()
		source := a.api.vm("source").DeepCopy()
		source.Annotations = map[string]string{"touched": "now"}
		if _, err := a.api.VmV1alpha1().VirtualMachines("ns").Update(t.Context(), source, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []string
		for _, h := range byNameOf(a.drain()) {
			got = append(got, h.Name)
		}
		if diff := cmp.Diff([]string{"clone", "source"}, got); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
	})
}
