// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instancetype describes the resources virtualmachineinstancetypes and
// virtualmachineclusterinstancetypes, which differ in scope only.
//
// Guarantee: a field that vSphere has no use for is kept and answered with a warning.
package instancetype

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	instancetype "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// version is where managed fields are tracked.
const version = "instancetype.slipway.dev/v1alpha1"

// Namespaced describes virtualmachineinstancetypes.
func Namespaced() standard.Kind[*instancetype.VirtualMachineInstancetype] {
	return standard.Kind[*instancetype.VirtualMachineInstancetype]{
		Plural:         instancetype.Resource("virtualmachineinstancetypes"),
		Singular:       instancetype.Resource("virtualmachineinstancetype"),
		Version:        version,
		Namespaced:     true,
		ShortNames:     []string{"vminstancetype", "vminstancetypes", "vmf", "vmfs"},
		Categories:     []string{"all", "slipway"},
		New:            func() *instancetype.VirtualMachineInstancetype { return &instancetype.VirtualMachineInstancetype{} },
		NewList:        func() runtime.Object { return &instancetype.VirtualMachineInstancetypeList{} },
		Spec:           func(o *instancetype.VirtualMachineInstancetype) any { return o.Spec },
		Validate:       validation.ValidateInstancetype,
		ValidateUpdate: validation.ValidateInstancetypeUpdate,
		Warnings: func(o *instancetype.VirtualMachineInstancetype) []string {
			return validation.InstancetypeWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *instancetype.VirtualMachineInstancetype) *instancetype.VirtualMachineInstancetypeSpec {
			return &o.Spec
		}),
	}
}

// Cluster describes virtualmachineclusterinstancetypes.
func Cluster() standard.Kind[*instancetype.VirtualMachineClusterInstancetype] {
	return standard.Kind[*instancetype.VirtualMachineClusterInstancetype]{
		Plural:     instancetype.Resource("virtualmachineclusterinstancetypes"),
		Singular:   instancetype.Resource("virtualmachineclusterinstancetype"),
		Version:    version,
		ShortNames: []string{"vmclusterinstancetype", "vmclusterinstancetypes", "vmcf", "vmcfs"},
		// Not in the category all, which is about what a namespace holds.
		Categories: []string{"slipway"},
		New: func() *instancetype.VirtualMachineClusterInstancetype {
			return &instancetype.VirtualMachineClusterInstancetype{}
		},
		NewList:        func() runtime.Object { return &instancetype.VirtualMachineClusterInstancetypeList{} },
		Spec:           func(o *instancetype.VirtualMachineClusterInstancetype) any { return o.Spec },
		Validate:       validation.ValidateClusterInstancetype,
		ValidateUpdate: validation.ValidateClusterInstancetypeUpdate,
		Warnings: func(o *instancetype.VirtualMachineClusterInstancetype) []string {
			return validation.InstancetypeWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *instancetype.VirtualMachineClusterInstancetype) *instancetype.VirtualMachineInstancetypeSpec {
			return &o.Spec
		}),
	}
}

func columns[T runtime.Object](spec func(T) *instancetype.VirtualMachineInstancetypeSpec) rest.TableConvertor {
	type column = table.Column[T]
	return table.New(
		column{Name: "CPU", Type: "integer", Description: "Virtual CPUs.",
			Value: func(o T) any { return int64(spec(o).CPU.Guest) }},
		column{Name: "Memory", Type: "string", Description: "Guest memory.",
			Value: func(o T) any { return spec(o).Memory.Guest.String() }},
		column{Name: "GPUs", Type: "integer", Wide: true, Description: "Number of GPUs.",
			Value: func(o T) any { return int64(len(spec(o).GPUs)) }},
		column{Name: "Host devices", Type: "integer", Wide: true, Description: "Number of host devices.",
			Value: func(o T) any { return int64(len(spec(o).HostDevices)) }},
	)
}
