// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// PowerPart returns the part function of start, stop, restart and suspend, which change the power fields of spec.
func PowerPart(now func() time.Time) func(v, stored *vmv1alpha1.VirtualMachine) {
	return func(v, stored *vmv1alpha1.VirtualMachine) {
		spec := *stored.Spec.DeepCopy()
		spec.PowerState = v.Spec.PowerState
		spec.PowerOffMode = v.Spec.PowerOffMode
		spec.SuspendMode = v.Spec.SuspendMode
		spec.RestartMode = v.Spec.RestartMode
		spec.NextRestartTime = v.Spec.NextRestartTime
		fillRestartTime(&spec, now)
		v.Spec, v.Status = spec, stored.Status
	}
}

// RefreshPart returns the part function of refresh-instancetype and refresh-preference, which change the references to
// the revision of role. References are in spec and in status. Both change in one write, because a controller that
// observed only one change would pin the old revision again.
func RefreshPart(role instancetype.Role) func(v, stored *vmv1alpha1.VirtualMachine) {
	return func(v, stored *vmv1alpha1.VirtualMachine) {
		spec, status := *stored.Spec.DeepCopy(), *stored.Status.DeepCopy()
		switch role {
		case instancetype.RoleInstancetype:
			if to, from := spec.Instancetype, v.Spec.Instancetype; to != nil && from != nil {
				to.ControllerRevisionRef, to.RevisionName = from.ControllerRevisionRef, from.RevisionName
			}
			if to, from := status.InstancetypeRef, v.Status.InstancetypeRef; to != nil && from != nil {
				to.ControllerRevisionRef = from.ControllerRevisionRef
			} else if to != nil && to.Name == "" {
				status.InstancetypeRef = nil // forget that nothing could be inferred
			}
		case instancetype.RolePreference:
			if to, from := spec.Preference, v.Spec.Preference; to != nil && from != nil {
				to.ControllerRevisionRef, to.RevisionName = from.ControllerRevisionRef, from.RevisionName
			}
			if to, from := status.PreferenceRef, v.Status.PreferenceRef; to != nil && from != nil {
				to.ControllerRevisionRef = from.ControllerRevisionRef
			} else if to != nil && to.Name == "" {
				status.PreferenceRef = nil
			}
		}
		v.Spec, v.Status = spec, status
	}
}
