// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// source is the source of images: a content library or a template. Exactly one is set.
type source struct {
	library, template string
}

// String returns the key for the index and for logs.
func (p source) String() string {
	if p.template != "" {
		return "template/" + p.template
	}
	return "contentLibrary/" + p.library
}

func sourceOf(spec *vmv1alpha1.VirtualMachineImageSpec) source {
	switch {
	case spec.ContentLibrary != nil:
		return source{library: spec.ContentLibrary.Library}
	case spec.Template != nil:
		return source{template: spec.Template.InventoryPath}
	}
	return source{} // validation refuses this
}

// indexBySource is the name of the index of images by source.
const indexBySource = "source"

// sourceIndex is the index function for both kinds.
func sourceIndex(obj any) ([]string, error) {
	if i, ok := imageOf(obj); ok {
		return []string{sourceOf(&i.Spec).String()}, nil
	}
	return nil, nil
}

// imageOf returns an image of either kind. A ClusterVirtualMachineImage has no namespace.
func imageOf(obj any) (*vmv1alpha1.VirtualMachineImage, bool) {
	switch i := obj.(type) {
	case *vmv1alpha1.VirtualMachineImage:
		return i, true
	case *vmv1alpha1.ClusterVirtualMachineImage:
		return i.AsImage(), true
	}
	return nil, false
}
