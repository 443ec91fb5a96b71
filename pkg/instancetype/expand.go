// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Expand returns a copy of vm whose spec contains the fields of its instance type and preference, without references to
// them in spec and status. If there are no references, the copy is equal to vm. A class that is combined with a
// preference is also expanded, because the size must not be specified twice.
//
// The node selector is lost, because a virtual machine has no such field. Annotations that only privileged users may
// set are omitted: the author of the instance type may not be privileged, but the controller that writes the result is.
// The error is an *apply.Error.
func Expand(vm *vmv1alpha1.VirtualMachine, resolved *Resolved) (*vmv1alpha1.VirtualMachine, error) {
	out := vm.DeepCopy()
	if vm.Spec.Instancetype == nil && vm.Spec.Preference == nil {
		return out, nil
	}
	effective, err := ComputeEffective(vm, resolved)
	if err != nil {
		return nil, err
	}
	spec := &out.Spec
	spec.Instancetype, spec.Preference, spec.ClassName = nil, nil, ""
	spec.CPU, spec.Memory = effective.CPU, effective.Memory
	spec.Devices, spec.Firmware = effective.Devices, effective.Firmware
	spec.Network, spec.Volumes = effective.Network, effective.Volumes
	spec.Bootstrap = effective.Bootstrap
	spec.StorageClass = effective.StorageClass
	spec.MinHardwareVersion = effective.MinHardwareVersion
	spec.TerminationGracePeriodSeconds = effective.TerminationGracePeriodSeconds
	for key, value := range effective.Annotations {
		if apply.IsSourceAnnotation(key) || vmv1alpha1.IsPrivilegedKey(key) {
			continue
		}
		if out.Annotations == nil {
			out.Annotations = make(map[string]string, len(effective.Annotations))
		}
		out.Annotations[key] = value
	}
	out.Status.InstancetypeRef, out.Status.PreferenceRef = nil, nil
	return out, nil
}
