// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineimage describes the resources virtualmachineimages and clustervirtualmachineimages, which
// differ only in scope.
//
// Guarantee: the spec is immutable, because virtual machines refer to their image only by name.
package virtualmachineimage

import (
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// version is the version in which managed fields are tracked.
const version = "vm.slipway.dev/v1alpha1"

// Namespaced describes virtualmachineimages.
func Namespaced() standard.Kind[*vmv1alpha1.VirtualMachineImage] {
	return standard.Kind[*vmv1alpha1.VirtualMachineImage]{
		Plural:     vmv1alpha1.Resource("virtualmachineimages"),
		Singular:   vmv1alpha1.Resource("virtualmachineimage"),
		Version:    version,
		Namespaced: true,
		ShortNames: []string{"vmimage", "vmimages", "svmimage", "svmimages"},
		Categories: []string{"all", "slipway"},
		New:        func() *vmv1alpha1.VirtualMachineImage { return &vmv1alpha1.VirtualMachineImage{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineImageList{} },
		Spec:       func(i *vmv1alpha1.VirtualMachineImage) any { return i.Spec },
		Status: &standard.Status[*vmv1alpha1.VirtualMachineImage]{
			Drop: func(i *vmv1alpha1.VirtualMachineImage) {
				i.Status = vmv1alpha1.VirtualMachineImageStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(i, stored *vmv1alpha1.VirtualMachineImage) { i.Status = stored.Status },
			KeepSpec: func(i, stored *vmv1alpha1.VirtualMachineImage) { i.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineImageStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineImage,
		ValidateUpdate: validation.ValidateVirtualMachineImageUpdate,
		Table:          columns(func(i *vmv1alpha1.VirtualMachineImage) *vmv1alpha1.VirtualMachineImage { return i }),
	}
}

// Cluster describes clustervirtualmachineimages.
func Cluster() standard.Kind[*vmv1alpha1.ClusterVirtualMachineImage] {
	return standard.Kind[*vmv1alpha1.ClusterVirtualMachineImage]{
		Plural:     vmv1alpha1.Resource("clustervirtualmachineimages"),
		Singular:   vmv1alpha1.Resource("clustervirtualmachineimage"),
		Version:    version,
		ShortNames: []string{"cvmimage", "cvmimages", "clustervmimage", "clustervmimages", "cvmi", "cvmis", "scvmimage", "scvmimages"},
		// Not in the category all, which contains namespaced kinds only.
		Categories: []string{"slipway"},
		New:        func() *vmv1alpha1.ClusterVirtualMachineImage { return &vmv1alpha1.ClusterVirtualMachineImage{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.ClusterVirtualMachineImageList{} },
		Spec:       func(i *vmv1alpha1.ClusterVirtualMachineImage) any { return i.Spec },
		Status: &standard.Status[*vmv1alpha1.ClusterVirtualMachineImage]{
			Drop: func(i *vmv1alpha1.ClusterVirtualMachineImage) {
				i.Status = vmv1alpha1.VirtualMachineImageStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(i, stored *vmv1alpha1.ClusterVirtualMachineImage) { i.Status = stored.Status },
			KeepSpec: func(i, stored *vmv1alpha1.ClusterVirtualMachineImage) { i.Spec = stored.Spec },
			Validate: validation.ValidateClusterVirtualMachineImageStatusUpdate,
		},
		Validate:       validation.ValidateClusterVirtualMachineImage,
		ValidateUpdate: validation.ValidateClusterVirtualMachineImageUpdate,
		Table:          columns((*vmv1alpha1.ClusterVirtualMachineImage).AsImage),
	}
}
