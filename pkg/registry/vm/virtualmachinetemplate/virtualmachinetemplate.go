// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachinetemplate describes the resource virtualmachinetemplates.
package virtualmachinetemplate

import (
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachinetemplates, which are used for nodes.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineTemplate] {
	type template = *vmv1alpha1.VirtualMachineTemplate
	type column = table.Column[template]
	return standard.Kind[template]{
		Plural:         vmv1alpha1.Resource("virtualmachinetemplates"),
		Singular:       vmv1alpha1.Resource("virtualmachinetemplate"),
		Version:        vmv1alpha1.SchemeGroupVersion.String(),
		Namespaced:     true,
		ShortNames:     []string{"vmtemplate", "vmtemplates", "svmtemplate", "svmtemplates"},
		Categories:     []string{"slipway", "cluster-api"},
		New:            func() template { return &vmv1alpha1.VirtualMachineTemplate{} },
		NewList:        func() runtime.Object { return &vmv1alpha1.VirtualMachineTemplateList{} },
		Spec:           func(t template) any { return &t.Spec },
		Validate:       validation.ValidateVirtualMachineTemplate,
		ValidateUpdate: validation.ValidateVirtualMachineTemplateUpdate,
		Table: table.New(
			column{Name: "Type", Type: "string", Description: "Instance type or class.", Value: size},
			column{Name: "Image", Type: "string", Description: "Image of the virtual machines.", Value: image},
		),
	}
}

func size(t *vmv1alpha1.VirtualMachineTemplate) any {
	spec := &t.Spec.Template.Spec
	if spec.Instancetype != nil {
		return spec.Instancetype.Name
	}
	return spec.ClassName
}

func image(t *vmv1alpha1.VirtualMachineTemplate) any {
	if image := t.Spec.Template.Spec.Image; image != nil {
		return image.Name
	}
	return nil
}
