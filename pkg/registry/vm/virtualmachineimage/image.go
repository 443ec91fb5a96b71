// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineimage describes the resource virtualmachineimages.
//
// Guarantee: the spec is immutable, because virtual machines that were created from
// an image say so by its name alone.
package virtualmachineimage

import (
	"k8s.io/apimachinery/pkg/runtime"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineimages.
func Kind() standard.Kind[*vm.VirtualMachineImage] {
	type column = table.Column[*vm.VirtualMachineImage]
	return standard.Kind[*vm.VirtualMachineImage]{
		Plural:     vm.Resource("virtualmachineimages"),
		Singular:   vm.Resource("virtualmachineimage"),
		Version:    "vm.slipway.dev/v1alpha1",
		Namespaced: true,
		ShortNames: []string{"vmimage"},
		Categories: []string{"all", "slipway"},
		New:        func() *vm.VirtualMachineImage { return &vm.VirtualMachineImage{} },
		NewList:    func() runtime.Object { return &vm.VirtualMachineImageList{} },
		Spec:       func(i *vm.VirtualMachineImage) any { return i.Spec },
		Status: &standard.Status[*vm.VirtualMachineImage]{
			Drop:     func(i *vm.VirtualMachineImage) { i.Status = vm.VirtualMachineImageStatus{} },
			Keep:     func(i, stored *vm.VirtualMachineImage) { i.Status = stored.Status },
			KeepSpec: func(i, stored *vm.VirtualMachineImage) { i.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineImageStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineImage,
		ValidateUpdate: validation.ValidateVirtualMachineImageUpdate,
		Table: table.New(
			column{Name: "Source", Type: "string", Description: "Kind of source.",
				Value: func(i *vm.VirtualMachineImage) any { kind, _ := source(i); return kind }},
			column{Name: "Location", Type: "string", Description: "Library item or inventory path.",
				Value: func(i *vm.VirtualMachineImage) any { _, where := source(i); return where }},
		),
	}
}

func source(i *vm.VirtualMachineImage) (kind, where string) {
	switch {
	case i.Spec.ContentLibrary != nil:
		return "ContentLibrary", i.Spec.ContentLibrary.Library + "/" + i.Spec.ContentLibrary.Item
	case i.Spec.Template != nil:
		return "Template", i.Spec.Template.InventoryPath
	default:
		return "", ""
	}
}
