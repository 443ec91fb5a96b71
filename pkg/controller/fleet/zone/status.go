// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// noiseDivisor is the divisor of the capacity that gives the smallest change of a free amount that is written. Hosts report small
// changes all the time.
const noiseDivisor = 50

// statusOf returns the status of a zone with the observed amounts, or the previous ones if the difference is small. Conditions and
// the number of VMs are not changed.
func statusOf(state *provider.ZoneState, before *vmv1alpha1.ZoneStatus) vmv1alpha1.ZoneStatus {
	st := *before.DeepCopy()
	st.Hosts = state.Hosts
	st.Capacity = resources(state.Capacity)
	st.Free = resources(state.Free)
	if old := before.Free; old != nil {
		keepIfSimilar(&st.Free.CPU, old.CPU, state.Capacity.CPU)
		keepIfSimilar(&st.Free.Memory, old.Memory, state.Capacity.Memory)
		keepIfSimilar(&st.Free.Storage, old.Storage, state.Capacity.Storage)
	}
	return st
}

// keepIfSimilar keeps the previous amount if the difference is small.
func keepIfSimilar(now **resource.Quantity, before *resource.Quantity, capacity int64) {
	if before == nil || (*now).Value() == 0 || before.Value() == 0 {
		return
	}
	change := (*now).Value() - before.Value()
	if max(change, -change) < capacity/noiseDivisor {
		q := before.DeepCopy()
		*now = &q
	}
}

func resources(r provider.Resources) *vmv1alpha1.ZoneResources {
	return &vmv1alpha1.ZoneResources{
		CPU: resource.NewQuantity(r.CPU, resource.DecimalSI), Memory: resource.NewQuantity(r.Memory, resource.BinarySI),
		Storage: resource.NewQuantity(r.Storage, resource.BinarySI),
	}
}
