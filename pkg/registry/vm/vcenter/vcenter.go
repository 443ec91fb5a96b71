// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter describes the resource vcenters.
package vcenter

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes vcenters.
func Kind() standard.Kind[*vmv1alpha1.VCenter] {
	type column = table.Column[*vmv1alpha1.VCenter]
	return standard.Kind[*vmv1alpha1.VCenter]{
		Plural:     vmv1alpha1.Resource("vcenters"),
		Singular:   vmv1alpha1.Resource("vcenter"),
		Version:    "vm.slipway.dev/v1alpha1",
		ShortNames: []string{"vc", "vcs", "svcenter", "svcenters"},
		Categories: []string{"slipway"},
		New:        func() *vmv1alpha1.VCenter { return &vmv1alpha1.VCenter{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VCenterList{} },
		Spec:       func(v *vmv1alpha1.VCenter) any { return v.Spec },
		Status: &standard.Status[*vmv1alpha1.VCenter]{
			Drop: func(v *vmv1alpha1.VCenter) {
				v.Status = vmv1alpha1.VCenterStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(v, stored *vmv1alpha1.VCenter) { v.Status = stored.Status },
			KeepSpec: func(v, stored *vmv1alpha1.VCenter) { v.Spec = stored.Spec },
			Validate: validation.ValidateVCenterStatusUpdate,
		},
		Validate:       validation.ValidateVCenter,
		ValidateUpdate: validation.ValidateVCenterUpdate,
		Table: table.New(
			column{Name: "URL", Type: "string", Description: "URL of the SDK.", Value: func(v *vmv1alpha1.VCenter) any { return v.Spec.URL }},
			column{Name: "Version", Type: "string", Description: "Version of the product.", Value: func(v *vmv1alpha1.VCenter) any { return v.Status.Version }},
			column{Name: "Ready", Type: "string", Description: "True if the server is connected and has read the inventory; otherwise the reason.", Value: ready},
			column{Name: "VMs", Type: "integer", Description: "Number of VMs that belong to VirtualMachines.", Value: func(v *vmv1alpha1.VCenter) any {
				if i := v.Status.Inventory; i != nil {
					return int64(i.VirtualMachines)
				}
				return nil
			}},
			column{Name: "API", Type: "string", Wide: true, Description: "Version of the API.", Value: func(v *vmv1alpha1.VCenter) any { return v.Status.APIVersion }},
			column{Name: "User", Type: "string", Wide: true, Description: "User of the session.", Value: func(v *vmv1alpha1.VCenter) any {
				if s := v.Status.Session; s != nil {
					return s.UserName
				}
				return nil
			}},
			column{Name: "Read", Type: "string", Wide: true, Description: "Duration of the last full read of the inventory.", Value: func(v *vmv1alpha1.VCenter) any {
				if i := v.Status.Inventory; i != nil {
					return i.ReadDuration.Duration.String()
				}
				return nil
			}},
		),
	}
}

// ready returns True or the reason why the vCenter is not ready.
func ready(v *vmv1alpha1.VCenter) any {
	return conditions.ColumnValue(v.Status.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady)
}
