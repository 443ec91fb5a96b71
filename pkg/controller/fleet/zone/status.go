// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// noise is the share of the capacity, as its divisor, by which what is free may change
// without being news: what hosts report changes all the time.
const noise = 50

// statusOf is the status of a zone with the amounts that were seen, those before if they are
// hardly different. Conditions and the number of virtual machines stay.
func statusOf(state *provider.ZoneState, before *vmv1alpha1.ZoneStatus) vmv1alpha1.ZoneStatus {
	st := *before.DeepCopy()
	st.Hosts = state.Hosts
	st.Capacity = resources(state.Capacity)
	st.Free = resources(state.Free)
	if old := before.Free; old != nil {
		keep(&st.Free.CPU, old.CPU, state.Capacity.CPU)
		keep(&st.Free.Memory, old.Memory, state.Capacity.Memory)
		keep(&st.Free.Storage, old.Storage, state.Capacity.Storage)
	}
	return st
}

// keep leaves an amount at what it was if the difference is noise.
func keep(now **resource.Quantity, was *resource.Quantity, capacity int64) {
	if was == nil || (*now).Value() == 0 || was.Value() == 0 {
		return
	}
	change := (*now).Value() - was.Value()
	if max(change, -change) < capacity/noise {
		q := was.DeepCopy()
		*now = &q
	}
}

func resources(r provider.Resources) *vmv1alpha1.ZoneResources {
	return &vmv1alpha1.ZoneResources{
		CPU: resource.NewQuantity(r.CPU, resource.DecimalSI), Memory: resource.NewQuantity(r.Memory, resource.BinarySI),
		Storage: resource.NewQuantity(r.Storage, resource.BinarySI),
	}
}
