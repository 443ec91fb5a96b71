// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestReport_MergesConditionsInTheirOrder(t *testing.T) {
	then, now := metav1.Unix(500, 0), time.Unix(1000, 0)
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	condition := func(kind string, status metav1.ConditionStatus, reason string, generation int64, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: generation, LastTransitionTime: at}
	}
	vm.Status.Conditions = []metav1.Condition{
		condition("Kept", "True", "Before", 3, then), condition("Same", "True", "Before", 3, then),
		condition("Changed", "True", "Before", 3, then), condition("Removed", "True", "Before", 3, then),
	}
	stored := vm.DeepCopy()

	var report step.Report
	report.True("Same")
	report.False("Changed", "First", "")
	report.Remove("Removed")
	report.Remove("Absent")
	var later step.Report
	later.False("Changed", "Second", "")
	later.Remove("New")
	later.True("New")
	report.Add(later)
	report.AddResult(&provider.Result{
		RemovedConditions: []string{"New"},
		Conditions:        []metav1.Condition{{Type: "Observed", Status: metav1.ConditionTrue, Reason: "Seen", LastTransitionTime: metav1.Unix(900, 0)}},
	})
	want := []metav1.Condition{
		condition("Kept", "True", "Before", 3, then), condition("Same", "True", "Succeeded", 7, then),
		condition("Changed", "False", "Second", 7, metav1.NewTime(now)), condition("Observed", "True", "Seen", 7, metav1.Unix(900, 0)),
	}
	if diff := cmp.Diff(want, report.Merge(vm, now)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stored, vm); diff != "" {
		t.Errorf("the virtual machine was changed (-before +after):\n%s", diff)
	}
}

func TestReport_RequeuesAtTheEarliestTime(t *testing.T) {
	var report, later step.Report
	report.RequeueAfter(time.Minute)
	later.RequeueAfter(time.Hour)
	report.Add(later)
	if want := (controller.Result{RequeueAfter: time.Minute}); report.Next != want {
		t.Errorf("next reconcile %+v, want %+v", report.Next, want)
	}
	later.RequeueAfter(time.Second)
	later.RequeueAfter(0)
	report.Add(later)
	if want := (controller.Result{RequeueAfter: time.Second, Requeue: true}); report.Next != want {
		t.Errorf("next reconcile %+v, want %+v", report.Next, want)
	}
}

func TestObserved_HasASizeOnlyIfItIsComplete(t *testing.T) {
	memory := resource.MustParse("1Gi")
	for name, tc := range map[string]struct {
		observation *provider.Observation
		want        bool
	}{
		"no answer": {nil, false},
		"no size":   {&provider.Observation{}, false},
		"no memory": {&provider.Observation{Resources: &vmv1alpha1.VirtualMachineResources{VCPUs: 1}}, false},
		"no CPUs":   {&provider.Observation{Resources: &vmv1alpha1.VirtualMachineResources{Memory: &memory}}, false},
		"both":      {&provider.Observation{Resources: &vmv1alpha1.VirtualMachineResources{VCPUs: 1, Memory: &memory}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := step.Observed{Result: provider.Result{Observation: tc.observation}}
			if got := o.Size(); (got != nil) != tc.want {
				t.Errorf("size %+v, want one: %t", got, tc.want)
			}
		})
	}
}
