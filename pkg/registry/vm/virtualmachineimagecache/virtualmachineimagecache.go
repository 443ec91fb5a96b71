// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachineimagecache describes the resource virtualmachineimagecaches.
package virtualmachineimagecache

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachineimagecaches.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineImageCache] {
	type cache = *vmv1alpha1.VirtualMachineImageCache
	type column = table.Column[cache]
	return standard.Kind[cache]{
		Plural:     vmv1alpha1.Resource("virtualmachineimagecaches"),
		Singular:   vmv1alpha1.Resource("virtualmachineimagecache"),
		ShortNames: []string{"vmicache", "vmicaches", "vmimagecache", "vmimagecaches", "vmic", "vmics", "svmic", "svmics"},
		Version:    "vm.slipway.dev/v1alpha1",
		Categories: []string{"slipway"},
		New:        func() cache { return &vmv1alpha1.VirtualMachineImageCache{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineImageCacheList{} },
		Spec:       func(c cache) any { return c.Spec },
		Status: &standard.Status[cache]{
			Drop: func(c cache) {
				c.Status = vmv1alpha1.VirtualMachineImageCacheStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(c, stored cache) { c.Status = stored.Status },
			KeepSpec: func(c, stored cache) { c.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineImageCacheStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineImageCache,
		ValidateUpdate: validation.ValidateVirtualMachineImageCacheUpdate,
		Table: table.New(
			column{Name: "Library", Type: "string", Description: "Name of the content library in vSphere.", Value: func(c cache) any { return c.Spec.ContentLibrary.Library }},
			column{Name: "Item", Type: "string", Description: "Name of the item.", Value: func(c cache) any { return c.Spec.ContentLibrary.Item }},
			column{Name: "Ready", Type: "string", Description: "True if all copies exist; otherwise the reason.", Value: ready},
			column{Name: "Locations", Type: "integer", Description: "Desired number of copies.", Value: func(c cache) any { return int64(len(c.Spec.Locations)) }},
			column{Name: "Size", Type: "string", Description: "Total size of the copies.", Value: size},
		),
	}
}

// ready returns True or the reason why the cache is not ready.
func ready(c *vmv1alpha1.VirtualMachineImageCache) any {
	return conditions.ColumnValue(c.Status.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady)
}

// size returns the total size of all copies, or an empty string if it is unknown.
func size(c *vmv1alpha1.VirtualMachineImageCache) any {
	total := c.Status.TotalSize()
	if total == nil {
		return ""
	}
	return total.String()
}
