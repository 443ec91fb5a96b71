// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineclass describes the resource virtualmachineclasses.
//
// Guarantee: a class has a spec only. Its generation counts changes; virtual machines record the generation that they
// have applied.
package virtualmachineclass

import (
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineclasses.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineClass] {
	type column = table.Column[*vmv1alpha1.VirtualMachineClass]
	return standard.Kind[*vmv1alpha1.VirtualMachineClass]{
		Plural:         vmv1alpha1.Resource("virtualmachineclasses"),
		Singular:       vmv1alpha1.Resource("virtualmachineclass"),
		Version:        "vm.slipway.dev/v1alpha1",
		Namespaced:     true,
		ShortNames:     []string{"vmclass", "vmclasses", "svmclass", "svmclasses"},
		Categories:     []string{"all", "slipway"},
		New:            func() *vmv1alpha1.VirtualMachineClass { return &vmv1alpha1.VirtualMachineClass{} },
		NewList:        func() runtime.Object { return &vmv1alpha1.VirtualMachineClassList{} },
		Spec:           func(c *vmv1alpha1.VirtualMachineClass) any { return c.Spec },
		Validate:       validation.ValidateVirtualMachineClass,
		ValidateUpdate: validation.ValidateVirtualMachineClassUpdate,
		Table: table.New(
			column{Name: "CPU", Type: "integer", Description: "Virtual CPUs.", Value: vcpus},
			column{Name: "Memory", Type: "string", Description: "Guest memory.", Value: memory},
			column{Name: "Description", Type: "string", Wide: true, Description: "Description of the class.",
				Value: func(c *vmv1alpha1.VirtualMachineClass) any { return c.Spec.Description }},
		),
	}
}

func vcpus(c *vmv1alpha1.VirtualMachineClass) any {
	cpu := c.Spec.CPU
	return int64(max(cpu.Sockets, 1)) * int64(max(cpu.Cores, 1)) * int64(max(cpu.Threads, 1))
}

func memory(c *vmv1alpha1.VirtualMachineClass) any {
	if c.Spec.Memory.Guest == nil {
		return nil
	}
	return c.Spec.Memory.Guest.String()
}
