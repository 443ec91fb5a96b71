// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// reduced is a status without the parts that a server refuses and those that only inform
// and may be large: which vSphere VM it is, what was captured, when it was restarted and
// how it is stays, for a status that is dropped because of one part would leave the next
// pass without all of them.
func reduced(st *vmv1alpha1.VirtualMachineStatus) *vmv1alpha1.VirtualMachineStatus {
	out := st.DeepCopy()
	out.Network, out.Guest, out.Storage = nil, nil, nil
	out.Snapshots, out.RootSnapshots = nil, nil
	out.Volumes, out.Addresses, out.RestartRequired = nil, nil, nil
	out.Conditions = nil
	for _, c := range st.Conditions {
		c.Message = conditions.Message(c.Message)
		alone := metav1validation.ValidateConditions([]metav1.Condition{c}, field.NewPath("conditions"))
		if len(alone) == 0 && conditions.Find(out.Conditions, c.Type) == nil {
			out.Conditions = append(out.Conditions, c)
		}
	}
	if !slices.Contains([]vmv1alpha1.PowerState{vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended}, out.PowerState) {
		out.PowerState = ""
	}
	return out
}
