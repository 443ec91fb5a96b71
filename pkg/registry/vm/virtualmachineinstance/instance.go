// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineinstance describes the resource virtualmachineinstances.
//
// Guarantee: field selectors support phase and host.
package virtualmachineinstance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineinstances.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineInstance] {
	type column = table.Column[*vmv1alpha1.VirtualMachineInstance]
	return standard.Kind[*vmv1alpha1.VirtualMachineInstance]{
		Plural:     vmv1alpha1.Resource("virtualmachineinstances"),
		Singular:   vmv1alpha1.Resource("virtualmachineinstance"),
		Version:    "vm.slipway.dev/v1alpha1",
		Namespaced: true,
		ShortNames: []string{"vmi", "vmis", "svmi", "svmis"},
		Categories: []string{"all", "slipway"},
		New:        func() *vmv1alpha1.VirtualMachineInstance { return &vmv1alpha1.VirtualMachineInstance{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineInstanceList{} },
		Spec:       func(i *vmv1alpha1.VirtualMachineInstance) any { return i.Spec },
		Derived:    true,
		Status: &standard.Status[*vmv1alpha1.VirtualMachineInstance]{
			Drop:     func(i *vmv1alpha1.VirtualMachineInstance) { i.Status = vmv1alpha1.VirtualMachineInstanceStatus{} },
			Keep:     func(i, stored *vmv1alpha1.VirtualMachineInstance) { i.Status = stored.Status },
			KeepSpec: func(i, stored *vmv1alpha1.VirtualMachineInstance) { i.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineInstanceStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineInstance,
		ValidateUpdate: validation.ValidateVirtualMachineInstanceUpdate,
		GetAttrs:       getAttrs,
		Table: table.New(
			column{Name: "Phase", Type: "string", Description: "Phase of the instance.",
				Value: func(i *vmv1alpha1.VirtualMachineInstance) any { return string(i.Status.Phase) }},
			column{Name: "IP", Type: "string", Description: "Primary IP address.", Value: primaryIP},
			column{Name: "Host", Type: "string", Description: "ESXi host.",
				Value: func(i *vmv1alpha1.VirtualMachineInstance) any { return i.Status.NodeName }},
			column{Name: "CPU", Type: "string", Wide: true, Description: "Virtual CPUs that the VM runs with.", Value: vcpus},
			column{Name: "Memory", Type: "string", Wide: true, Description: "Guest memory that the VM runs with.", Value: memory},
			column{Name: "Guest", Type: "string", Wide: true, Description: "Guest operating system reported by VMware Tools.", Value: guest},
		),
	}
}

func getAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	i, ok := obj.(*vmv1alpha1.VirtualMachineInstance)
	if !ok {
		return nil, nil, fmt.Errorf("reading the fields of a VirtualMachineInstance: got a %T", obj)
	}
	set := generic.ObjectMetaFieldsSet(&i.ObjectMeta, true)
	set["status.phase"] = string(i.Status.Phase)
	set["status.nodeName"] = i.Status.NodeName
	return i.Labels, set, nil
}

func primaryIP(i *vmv1alpha1.VirtualMachineInstance) any {
	n := i.Status.Network
	switch {
	case n == nil:
		return nil
	case n.PrimaryIP4 != "":
		return n.PrimaryIP4
	default:
		return n.PrimaryIP6
	}
}

func vcpus(i *vmv1alpha1.VirtualMachineInstance) any {
	cpu := i.Spec.CPU
	if cpu == nil {
		return nil
	}
	return int64(max(cpu.Sockets, 1)) * int64(max(cpu.Cores, 1)) * int64(max(cpu.Threads, 1))
}

func memory(i *vmv1alpha1.VirtualMachineInstance) any {
	if i.Spec.Memory == nil || i.Spec.Memory.Guest == nil {
		return nil
	}
	return i.Spec.Memory.Guest.String()
}

func guest(i *vmv1alpha1.VirtualMachineInstance) any {
	if i.Status.Guest == nil {
		return nil
	}
	return i.Status.Guest.GuestFullName
}
