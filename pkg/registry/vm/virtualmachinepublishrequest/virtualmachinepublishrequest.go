// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachinepublishrequest describes the resource
// virtualmachinepublishrequests.
package virtualmachinepublishrequest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachinepublishrequests.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachinePublishRequest] {
	type request = *vmv1alpha1.VirtualMachinePublishRequest
	type column = table.Column[request]
	return standard.Kind[request]{
		Plural:     vmv1alpha1.Resource("virtualmachinepublishrequests"),
		Singular:   vmv1alpha1.Resource("virtualmachinepublishrequest"),
		ShortNames: []string{"vmpub", "vmpubs", "svmpub", "svmpubs"},
		Version:    "vm.slipway.dev/v1alpha1",
		Categories: []string{"slipway"},
		Namespaced: true,
		New:        func() request { return &vmv1alpha1.VirtualMachinePublishRequest{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachinePublishRequestList{} },
		Spec:       func(r request) any { return r.Spec },
		Status: &standard.Status[request]{
			Drop: func(r request) {
				r.Status = vmv1alpha1.VirtualMachinePublishRequestStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(r, stored request) { r.Status = stored.Status },
			KeepSpec: func(r, stored request) { r.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachinePublishRequestStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachinePublishRequest,
		ValidateUpdate: validation.ValidateVirtualMachinePublishRequestUpdate,
		Table: table.New(
			column{Name: "Source", Type: "string", Description: "Name of the virtual machine.", Value: func(r request) any { return r.SourceName() }},
			column{Name: "Library", Type: "string", Description: "Name of the ContentLibrary.", Value: func(r request) any { return r.Spec.Target.ContentLibrary }},
			column{Name: "Item", Type: "string", Description: "Name of the item.", Value: func(r request) any { return r.ItemName() }},
			column{Name: "Complete", Type: "string", Description: "True if the request is complete; otherwise the reason.", Value: complete},
			column{Name: "Image", Type: "string", Description: "Name of the image of the item.", Value: func(r request) any { return r.Status.ImageName }},
			column{Name: "Attempts", Type: "integer", Wide: true, Description: "Number of attempts.", Value: func(r request) any { return int64(r.Status.Attempts) }},
		),
	}
}

// complete returns True or the reason why the request is not complete.
func complete(r *vmv1alpha1.VirtualMachinePublishRequest) any {
	return conditions.ColumnValue(r.Status.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionComplete)
}
