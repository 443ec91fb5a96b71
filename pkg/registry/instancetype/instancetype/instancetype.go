// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instancetype describes the resources virtualmachineinstancetypes and virtualmachineclusterinstancetypes,
// which differ only in scope.
//
// Guarantee: fields that have no effect in vSphere are stored and cause a warning.
package instancetype

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// version is the version in which managed fields are tracked.
const version = "instancetype.slipway.dev/v1alpha1"

// Namespaced describes virtualmachineinstancetypes.
func Namespaced() standard.Kind[*itv1alpha1.VirtualMachineInstancetype] {
	return standard.Kind[*itv1alpha1.VirtualMachineInstancetype]{
		Plural:         itv1alpha1.Resource("virtualmachineinstancetypes"),
		Singular:       itv1alpha1.Resource("virtualmachineinstancetype"),
		Version:        version,
		Namespaced:     true,
		ShortNames:     []string{"vminstancetype", "vminstancetypes", "vmf", "vmfs", "svmf", "svmfs"},
		Categories:     []string{"all", "slipway"},
		New:            func() *itv1alpha1.VirtualMachineInstancetype { return &itv1alpha1.VirtualMachineInstancetype{} },
		NewList:        func() runtime.Object { return &itv1alpha1.VirtualMachineInstancetypeList{} },
		Spec:           func(o *itv1alpha1.VirtualMachineInstancetype) any { return o.Spec },
		Validate:       validation.ValidateInstancetype,
		ValidateUpdate: validation.ValidateInstancetypeUpdate,
		Warnings: func(o *itv1alpha1.VirtualMachineInstancetype) []string {
			return validation.InstancetypeWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *itv1alpha1.VirtualMachineInstancetype) *itv1alpha1.VirtualMachineInstancetypeSpec {
			return &o.Spec
		}),
	}
}

// Cluster describes virtualmachineclusterinstancetypes.
func Cluster() standard.Kind[*itv1alpha1.VirtualMachineClusterInstancetype] {
	return standard.Kind[*itv1alpha1.VirtualMachineClusterInstancetype]{
		Plural:     itv1alpha1.Resource("virtualmachineclusterinstancetypes"),
		Singular:   itv1alpha1.Resource("virtualmachineclusterinstancetype"),
		Version:    version,
		ShortNames: []string{"vmclusterinstancetype", "vmclusterinstancetypes", "vmcf", "vmcfs", "svmcf", "svmcfs"},
		// Not in the category all, which contains namespaced kinds only.
		Categories: []string{"slipway"},
		New: func() *itv1alpha1.VirtualMachineClusterInstancetype {
			return &itv1alpha1.VirtualMachineClusterInstancetype{}
		},
		NewList:        func() runtime.Object { return &itv1alpha1.VirtualMachineClusterInstancetypeList{} },
		Spec:           func(o *itv1alpha1.VirtualMachineClusterInstancetype) any { return o.Spec },
		Validate:       validation.ValidateClusterInstancetype,
		ValidateUpdate: validation.ValidateClusterInstancetypeUpdate,
		Warnings: func(o *itv1alpha1.VirtualMachineClusterInstancetype) []string {
			return validation.InstancetypeWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *itv1alpha1.VirtualMachineClusterInstancetype) *itv1alpha1.VirtualMachineInstancetypeSpec {
			return &o.Spec
		}),
	}
}

func columns[T runtime.Object](spec func(T) *itv1alpha1.VirtualMachineInstancetypeSpec) rest.TableConvertor {
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
