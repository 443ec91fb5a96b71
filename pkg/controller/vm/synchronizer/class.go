// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Class keeps status.class and the condition ClassReady.
type Class struct {
	// of has gathered the class, and reports what is wrong in the combination; here it
	// only decides the condition.
	of *Instancetype
}

// Sync implements Synchronizer.
func (s Class) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	if vm.Spec.ClassName == "" {
		vm.Status.Class = nil
		meta.RemoveStatusCondition(&vm.Status.Conditions, vmv1alpha1.ConditionClassReady)
		return vm, nil
	}
	class, err := s.of.sources.Class()
	if err != nil {
		setCondition(vm, vmv1alpha1.ConditionClassReady, err, s.of.now)
		return vm, err
	}
	vm.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: class.Name, Generation: class.Generation}
	// What a preference requires is said with the preference.
	setCondition(vm, vmv1alpha1.ConditionClassReady, s.of.part(func(p apply.Problem) bool { return p.Kind != apply.RequirementProblem }), s.of.now)
	return vm, nil
}
