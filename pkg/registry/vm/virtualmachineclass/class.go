// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineclass describes the resource virtualmachineclasses.
//
// Guarantee: a class has a spec only; changes of it are counted in generation, which
// virtual machines record as the generation they applied.
package virtualmachineclass

import (
	"k8s.io/apimachinery/pkg/runtime"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineclasses.
func Kind() standard.Kind[*vm.VirtualMachineClass] {
	type column = table.Column[*vm.VirtualMachineClass]
	return standard.Kind[*vm.VirtualMachineClass]{
		Plural:         vm.Resource("virtualmachineclasses"),
		Singular:       vm.Resource("virtualmachineclass"),
		Version:        "vm.slipway.dev/v1alpha1",
		Namespaced:     true,
		ShortNames:     []string{"vmclass"},
		Categories:     []string{"all", "slipway"},
		New:            func() *vm.VirtualMachineClass { return &vm.VirtualMachineClass{} },
		NewList:        func() runtime.Object { return &vm.VirtualMachineClassList{} },
		Spec:           func(c *vm.VirtualMachineClass) any { return c.Spec },
		Validate:       validation.ValidateVirtualMachineClass,
		ValidateUpdate: validation.ValidateVirtualMachineClassUpdate,
		Table: table.New(
			column{Name: "CPU", Type: "integer", Description: "Virtual CPUs.", Value: vcpus},
			column{Name: "Memory", Type: "string", Description: "Guest memory.", Value: memory},
			column{Name: "Description", Type: "string", Wide: true, Description: "What the class is for.",
				Value: func(c *vm.VirtualMachineClass) any { return c.Spec.Description }},
		),
	}
}

func vcpus(c *vm.VirtualMachineClass) any {
	cpu := c.Spec.CPU
	return int64(max(cpu.Sockets, 1)) * int64(max(cpu.Cores, 1)) * int64(max(cpu.Threads, 1))
}

func memory(c *vm.VirtualMachineClass) any {
	if c.Spec.Memory.Guest == nil {
		return nil
	}
	return c.Spec.Memory.Guest.String()
}
