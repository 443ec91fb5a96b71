// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Kind describes virtualmachines. now returns the current time.
func Kind(now func() time.Time) standard.Kind[*vmv1alpha1.VirtualMachine] {
	return standard.Kind[*vmv1alpha1.VirtualMachine]{
		Plural:     vmv1alpha1.Resource("virtualmachines"),
		Singular:   vmv1alpha1.Resource("virtualmachine"),
		Version:    vmv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"vm", "vms", "svm", "svms"},
		Categories: []string{"all", "slipway"},
		New:        func() *vmv1alpha1.VirtualMachine { return &vmv1alpha1.VirtualMachine{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineList{} },
		Spec:       func(v *vmv1alpha1.VirtualMachine) any { return &v.Spec },
		Status: &standard.Status[*vmv1alpha1.VirtualMachine]{
			Drop: func(v *vmv1alpha1.VirtualMachine) {
				v.Status = vmv1alpha1.VirtualMachineStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(v, stored *vmv1alpha1.VirtualMachine) { v.Status = stored.Status },
			KeepSpec: func(v, stored *vmv1alpha1.VirtualMachine) { v.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineStatusUpdate,
		},
		Recreate:         recreate,
		PrepareForCreate: func(v *vmv1alpha1.VirtualMachine) { fillAtCreation(v, now) },
		PrepareForUpdate: func(v, stored *vmv1alpha1.VirtualMachine) { fillAtUpdate(v, stored, now) },
		Validate:         validation.ValidateVirtualMachine,
		ValidateUpdate:   validation.ValidateVirtualMachineUpdate,
		Warnings: func(v *vmv1alpha1.VirtualMachine) []string {
			return validation.VirtualMachineWarnings(&v.Spec, field.NewPath("spec"))
		},
		Table:       newTable(),
		GetAttrs:    getAttrs,
		TrueFields:  trueFields,
		IndexFields: indexFields(),
	}
}
