// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone describes the resource zones.
package zone

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes zones.
func Kind() standard.Kind[*vmv1alpha1.Zone] {
	type column = table.Column[*vmv1alpha1.Zone]
	return standard.Kind[*vmv1alpha1.Zone]{
		Plural:     vmv1alpha1.Resource("zones"),
		Singular:   vmv1alpha1.Resource("zone"),
		Version:    "vm.slipway.dev/v1alpha1",
		ShortNames: []string{"szone", "szones"},
		Categories: []string{"slipway"},
		New:        func() *vmv1alpha1.Zone { return &vmv1alpha1.Zone{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.ZoneList{} },
		Spec:       func(z *vmv1alpha1.Zone) any { return z.Spec },
		Status: &standard.Status[*vmv1alpha1.Zone]{
			Drop: func(z *vmv1alpha1.Zone) {
				z.Status = vmv1alpha1.ZoneStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(z, stored *vmv1alpha1.Zone) { z.Status = stored.Status },
			KeepSpec: func(z, stored *vmv1alpha1.Zone) { z.Spec = stored.Spec },
			Validate: validation.ValidateZoneStatusUpdate,
		},
		Validate:       validation.ValidateZone,
		ValidateUpdate: validation.ValidateZoneUpdate,
		Table: table.New(
			column{Name: "VCenter", Type: "string", Description: "VCenter of the zone.", Value: func(z *vmv1alpha1.Zone) any { return z.VCenterName() }},
			column{Name: "Ready", Type: "string", Description: "True if virtual machines can be created in the zone; otherwise the reason.", Value: ready},
			column{Name: "VMs", Type: "integer", Description: "Number of virtual machines in the zone.", Value: func(z *vmv1alpha1.Zone) any { return int64(z.Status.VirtualMachines) }},
			column{Name: "Hosts", Type: "integer", Description: "Number of hosts that are currently usable.", Value: func(z *vmv1alpha1.Zone) any { return int64(z.Status.Hosts) }},
			free("CPU", "Free CPU.", gigahertz, func(r *vmv1alpha1.ZoneResources) *resource.Quantity { return r.CPU }),
			free("Memory", "Free memory.", size, func(r *vmv1alpha1.ZoneResources) *resource.Quantity { return r.Memory }),
			free("Storage", "Free storage space.", size, func(r *vmv1alpha1.ZoneResources) *resource.Quantity { return r.Storage }),
			column{Name: "Datacenter", Type: "string", Wide: true, Description: "Datacenter of the zone.", Value: func(z *vmv1alpha1.Zone) any { return z.Spec.Datacenter }},
			column{Name: "Folder", Type: "string", Wide: true, Description: "Folder of the virtual machines.", Value: func(z *vmv1alpha1.Zone) any { return z.Spec.Folder }},
		),
	}
}

// free returns a column with a free amount.
func free(name, description string, text func(*resource.Quantity) string, of func(*vmv1alpha1.ZoneResources) *resource.Quantity) table.Column[*vmv1alpha1.Zone] {
	return table.Column[*vmv1alpha1.Zone]{Name: name, Type: "string", Description: description, Value: func(z *vmv1alpha1.Zone) any {
		if z.Status.Free == nil {
			return nil
		}
		if q := of(z.Status.Free); q != nil {
			return text(q)
		}
		return nil
	}}
}

func gigahertz(q *resource.Quantity) string {
	return strconv.FormatFloat(q.AsApproximateFloat64()/1e9, 'f', 1, 64) + "GHz"
}

// size formats a number of bytes in whole gibibytes.
func size(q *resource.Quantity) string {
	return strconv.FormatInt(q.Value()>>30, 10) + "Gi"
}

// ready returns True or the reason why the zone is not ready.
func ready(z *vmv1alpha1.Zone) any {
	return conditions.ColumnValue(z.Status.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady)
}
