// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineimage describes the resource virtualmachineimages.
//
// Guarantee: the spec is immutable, because virtual machines that were created from
// an image say so by its name alone.
package virtualmachineimage

import (
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineimages.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineImage] {
	type column = table.Column[*vmv1alpha1.VirtualMachineImage]
	return standard.Kind[*vmv1alpha1.VirtualMachineImage]{
		Plural:     vmv1alpha1.Resource("virtualmachineimages"),
		Singular:   vmv1alpha1.Resource("virtualmachineimage"),
		Version:    "vm.slipway.dev/v1alpha1",
		Namespaced: true,
		ShortNames: []string{"vmimage"},
		Categories: []string{"all", "slipway"},
		New:        func() *vmv1alpha1.VirtualMachineImage { return &vmv1alpha1.VirtualMachineImage{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineImageList{} },
		Spec:       func(i *vmv1alpha1.VirtualMachineImage) any { return i.Spec },
		Status: &standard.Status[*vmv1alpha1.VirtualMachineImage]{
			Drop:     func(i *vmv1alpha1.VirtualMachineImage) { i.Status = vmv1alpha1.VirtualMachineImageStatus{} },
			Keep:     func(i, stored *vmv1alpha1.VirtualMachineImage) { i.Status = stored.Status },
			KeepSpec: func(i, stored *vmv1alpha1.VirtualMachineImage) { i.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineImageStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineImage,
		ValidateUpdate: validation.ValidateVirtualMachineImageUpdate,
		Table: table.New(
			column{Name: "Source", Type: "string", Description: "Kind of source.",
				Value: func(i *vmv1alpha1.VirtualMachineImage) any { kind, _ := source(i); return kind }},
			column{Name: "Location", Type: "string", Description: "Library item or inventory path.",
				Value: func(i *vmv1alpha1.VirtualMachineImage) any { _, where := source(i); return where }},
		),
	}
}

func source(i *vmv1alpha1.VirtualMachineImage) (kind, where string) {
	switch {
	case i.Spec.ContentLibrary != nil:
		return "ContentLibrary", i.Spec.ContentLibrary.Library + "/" + i.Spec.ContentLibrary.Item
	case i.Spec.Template != nil:
		return "Template", i.Spec.Template.InventoryPath
	default:
		return "", ""
	}
}
