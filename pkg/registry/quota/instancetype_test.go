// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ofInstancetypes returns the evaluator of namespaced instance types.
func ofInstancetypes(t *testing.T, e *Evaluators) quotav1.Evaluator {
	t.Helper()
	for _, each := range e.Configuration().Evaluators() {
		if each.GroupResource() == itv1alpha1.Resource("virtualmachineinstancetypes") {
			return each
		}
	}
	t.Fatal("no evaluator for instance types")
	return nil
}

func instancetypeOf(vcpus int32) *itv1alpha1.VirtualMachineInstancetype {
	it := &itv1alpha1.VirtualMachineInstancetype{}
	it.Namespace, it.Name = "ns", "t"
	it.Spec.CPU.Guest, it.Spec.Memory.Guest = vcpus, *quantity("1Gi")
	return it
}

// A paused virtual machine is admitted with the current instance type, but pins the instance type as it is after the
// pause.
func TestInstancetypeEvaluator_ChargesVMsThatHaveNotPinnedIt(t *testing.T) {
	type vm = vmv1alpha1.VirtualMachine
	of := func(kind string, change func(*vm)) vm {
		return *machine(func(v *vm) {
			v.Spec.CPU, v.Spec.Memory = nil, nil
			v.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "t", Kind: kind}
			change(v)
		})
	}
	captured := func(v *vm) {
		v.Status.ObservedGeneration, v.Status.Resources = v.Generation, size(4, "1Gi")
		v.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{
			Name: "t", Kind: "virtualmachineinstancetype", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"},
		}
	}
	const namespaced = "VirtualMachineInstancetype"
	o := catalogue()
	o.sizes = []*itv1alpha1.VirtualMachineInstancetype{instancetypeOf(4)}
	o.machines = []vm{
		of(namespaced, func(*vm) {}),
		of(namespaced, func(v *vm) { captured(v); v.Status.InstancetypeRef.ControllerRevisionRef = nil }),
		of(namespaced, captured),
		of("VirtualMachineClusterInstancetype", func(*vm) {}),
		*machine(),
	}
	e := ofInstancetypes(t, evaluators(o))
	for vcpus, want := range map[int32]int64{2: 0, 4: 0, 6: 4} {
		charged, err := e.Usage(instancetypeOf(vcpus))
		if err != nil {
			t.Fatal(err)
		}
		if got := charged[vmv1alpha1.QuotaVCPUs]; got.Value() != want {
			t.Errorf("changing an instance type from 4 to %d vCPUs is charged %v, want %d", vcpus, got.String(), want)
		}
	}
}

func TestInstancetypeEvaluator_HandlesCreationsAndChanges(t *testing.T) {
	labelled := instancetypeOf(4)
	labelled.Labels = map[string]string{"a": "b"}
	e := ofInstancetypes(t, New())
	for name, tc := range map[string]struct {
		operation admission.Operation
		old       runtime.Object
		want      bool
	}{
		"created":       {admission.Create, nil, true},
		"grown":         {admission.Update, instancetypeOf(2), true},
		"labelled":      {admission.Update, labelled, false},
		"being deleted": {admission.Delete, nil, false},
	} {
		if got := e.Handles(request(tc.operation, "", instancetypeOf(4), tc.old)); got != tc.want {
			t.Errorf("%s: Handles is %v, want %v", name, got, tc.want)
		}
	}
	if _, err := e.Usage(instancetypeOf(1)); err == nil {
		t.Error("no error for an instance type without stores")
	}
}
