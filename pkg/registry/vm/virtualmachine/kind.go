// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// unobserved is the status.observedGeneration of a VM that no controller has looked at
// yet. Without it tools that follow the kstatus convention take one for complete.
const unobserved = -1

// Kind describes virtualmachines. now is the clock.
func Kind(now func() time.Time) standard.Kind[*vm.VirtualMachine] {
	return standard.Kind[*vm.VirtualMachine]{
		Plural:     vm.Resource("virtualmachines"),
		Singular:   vm.Resource("virtualmachine"),
		Version:    vm.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"vm", "vms"},
		Categories: []string{"all", "slipway"},
		New:        func() *vm.VirtualMachine { return &vm.VirtualMachine{} },
		NewList:    func() runtime.Object { return &vm.VirtualMachineList{} },
		Spec:       func(v *vm.VirtualMachine) any { return &v.Spec },
		Status: &standard.Status[*vm.VirtualMachine]{
			Drop: func(v *vm.VirtualMachine) {
				v.Status = vm.VirtualMachineStatus{ObservedGeneration: unobserved}
			},
			Keep:     func(v, stored *vm.VirtualMachine) { v.Status = stored.Status },
			KeepSpec: func(v, stored *vm.VirtualMachine) { v.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineStatusUpdate,
		},
		PrepareForCreate: func(v *vm.VirtualMachine) { fillAtCreation(v, now) },
		PrepareForUpdate: func(v, stored *vm.VirtualMachine) { fillAtUpdate(v, stored, now) },
		Validate:         validation.ValidateVirtualMachine,
		ValidateUpdate:   validation.ValidateVirtualMachineUpdate,
		Warnings: func(v *vm.VirtualMachine) []string {
			return validation.VirtualMachineWarnings(&v.Spec, field.NewPath("spec"))
		},
		Table:       newTable(),
		GetAttrs:    getAttrs,
		IndexFields: indexFields(),
	}
}
