// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// place is where images are: a content library or a template. Exactly one is named.
type place struct {
	library, template string
}

// String names the place in logs, in the words of a spec.
func (p place) String() string {
	if p.template != "" {
		return "template/" + p.template
	}
	return "contentLibrary/" + p.library
}

func placeOf(spec *vmv1alpha1.VirtualMachineImageSpec) place {
	switch {
	case spec.ContentLibrary != nil:
		return place{library: spec.ContentLibrary.Library}
	case spec.Template != nil:
		return place{template: spec.Template.InventoryPath}
	}
	return place{} // validation lets none in
}

// indexByPlace finds images by their places.
const indexByPlace = "place"

// byPlace is the index function of both kinds.
func byPlace(obj any) ([]string, error) {
	if i, ok := imageOf(obj); ok {
		return []string{placeOf(&i.Spec).String()}, nil
	}
	return nil, nil
}

// imageOf is an object of either kind; one without namespace is of the whole cluster.
func imageOf(obj any) (*vmv1alpha1.VirtualMachineImage, bool) {
	switch i := obj.(type) {
	case *vmv1alpha1.VirtualMachineImage:
		return i, true
	case *vmv1alpha1.ClusterVirtualMachineImage:
		return i.AsImage(), true
	}
	return nil, false
}
