// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Class looks up the class of a virtual machine and keeps status.class and the
// condition ClassReady.
type Class struct {
	reader instancetype.Reader
	now    func() metav1.Time
}

// Sync implements Synchronizer.
func (s *Class) Sync(
	vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	out := vm.DeepCopy()
	name := vm.Spec.ClassName
	if name == "" {
		out.Status.Class = nil
		meta.RemoveStatusCondition(&out.Status.Conditions, vmv1alpha1.ConditionClassReady)
		return changed(vm, out), nil
	}
	class, err := s.reader.Class(vm.Namespace, name)
	if err != nil {
		err = &instancetype.ClassError{Name: name, Err: err}
		setCondition(out, vmv1alpha1.ConditionClassReady, err, s.now)
		return changed(vm, out), err
	}
	out.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: class.Name, Generation: class.Generation}
	// The instance type synchronizer reports what is wrong in the combination;
	// here it only decides the condition.
	_, err = apply.Effective(vm, apply.Inputs{Class: class})
	var problems *apply.Error
	if !errors.As(err, &problems) {
		err = nil
	}
	setCondition(out, vmv1alpha1.ConditionClassReady, err, s.now)
	return changed(vm, out), nil
}
