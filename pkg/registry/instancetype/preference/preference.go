// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preference describes the resources virtualmachinepreferences and virtualmachineclusterpreferences, which
// differ only in scope.
//
// Guarantee: fields that have no effect in vSphere are stored and cause a warning.
package preference

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

// Namespaced describes virtualmachinepreferences.
func Namespaced() standard.Kind[*itv1alpha1.VirtualMachinePreference] {
	return standard.Kind[*itv1alpha1.VirtualMachinePreference]{
		Plural:         itv1alpha1.Resource("virtualmachinepreferences"),
		Singular:       itv1alpha1.Resource("virtualmachinepreference"),
		Version:        version,
		Namespaced:     true,
		ShortNames:     []string{"vmpref", "vmprefs", "vmp", "vmps", "svmp", "svmps"},
		Categories:     []string{"all", "slipway"},
		New:            func() *itv1alpha1.VirtualMachinePreference { return &itv1alpha1.VirtualMachinePreference{} },
		NewList:        func() runtime.Object { return &itv1alpha1.VirtualMachinePreferenceList{} },
		Spec:           func(o *itv1alpha1.VirtualMachinePreference) any { return o.Spec },
		Validate:       validation.ValidatePreference,
		ValidateUpdate: validation.ValidatePreferenceUpdate,
		Warnings: func(o *itv1alpha1.VirtualMachinePreference) []string {
			return validation.PreferenceWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *itv1alpha1.VirtualMachinePreference) *itv1alpha1.VirtualMachinePreferenceSpec {
			return &o.Spec
		}),
	}
}

// Cluster describes virtualmachineclusterpreferences.
func Cluster() standard.Kind[*itv1alpha1.VirtualMachineClusterPreference] {
	return standard.Kind[*itv1alpha1.VirtualMachineClusterPreference]{
		Plural:     itv1alpha1.Resource("virtualmachineclusterpreferences"),
		Singular:   itv1alpha1.Resource("virtualmachineclusterpreference"),
		Version:    version,
		ShortNames: []string{"vmclusterpref", "vmclusterprefs", "vmcp", "vmcps", "svmcp", "svmcps"},
		// Not in the category all, which contains namespaced kinds only.
		Categories: []string{"slipway"},
		New: func() *itv1alpha1.VirtualMachineClusterPreference {
			return &itv1alpha1.VirtualMachineClusterPreference{}
		},
		NewList:        func() runtime.Object { return &itv1alpha1.VirtualMachineClusterPreferenceList{} },
		Spec:           func(o *itv1alpha1.VirtualMachineClusterPreference) any { return o.Spec },
		Validate:       validation.ValidateClusterPreference,
		ValidateUpdate: validation.ValidateClusterPreferenceUpdate,
		Warnings: func(o *itv1alpha1.VirtualMachineClusterPreference) []string {
			return validation.PreferenceWarnings(&o.Spec, field.NewPath("spec"))
		},
		Table: columns(func(o *itv1alpha1.VirtualMachineClusterPreference) *itv1alpha1.VirtualMachinePreferenceSpec {
			return &o.Spec
		}),
	}
}

func columns[T runtime.Object](spec func(T) *itv1alpha1.VirtualMachinePreferenceSpec) rest.TableConvertor {
	type column = table.Column[T]
	return table.New(
		column{Name: "Topology", Type: "string", Description: "Distribution of vCPUs to sockets, cores and threads.",
			Value: func(o T) any {
				if cpu := spec(o).CPU; cpu != nil && cpu.PreferredCPUTopology != nil {
					return string(*cpu.PreferredCPUTopology)
				}
				return nil
			}},
		column{Name: "Required CPU", Type: "string", Description: "Minimum number of vCPUs.",
			Value: func(o T) any {
				if r := spec(o).Requirements; r != nil && r.CPU != nil {
					return int64(r.CPU.Guest)
				}
				return nil
			}},
		column{Name: "Required memory", Type: "string", Description: "Minimum memory.",
			Value: func(o T) any {
				if r := spec(o).Requirements; r != nil && r.Memory != nil {
					return r.Memory.Guest.String()
				}
				return nil
			}},
	)
}
