// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instance

import (
	"k8s.io/apimachinery/pkg/api/equality"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// ShowSize sets the size that vSphere shows, the desired size while that is another, and the generation of the
// class that the size comes from. The synchronizers have filled in the desired ones. A size that vSphere has not
// shown yet is the last one that is known.
func ShowSize(s *step.State) {
	before, status := &s.Stored.Status, &s.VM.Status
	created, done := s.Observed.Created, applied(s) && len(status.RestartRequired) == 0
	wanted := instancetype.Resources(s.Effective)
	has, hasSize := wanted, s.Observed.Size()
	switch {
	case created && hasSize != nil:
		if !equality.Semantic.DeepEqual(hasSize, wanted) {
			has = hasSize
		}
	case wanted == nil:
		has = before.Resources
	case !created || done:
	case step.Runs(s.VM):
		has = instancetype.Resources(runsWith(s, s.Instance))
	case before.Resources != nil:
		has = before.Resources
	}
	status.Resources = has
	if wanted != nil {
		status.DesiredResources = nil
		if !equality.Semantic.DeepEqual(has, wanted) {
			status.DesiredResources = wanted
		}
	}
	if created && !done && status.Class != nil && before.Class != nil {
		status.Class = before.Class
	}
}

// withSize is spec, of a running virtual machine, with the size that vSphere shows: a change that was applied and
// not recorded, for example before a restart of this process, is part of it.
func withSize(spec *vmv1alpha1.VirtualMachineInstanceSpec, has *vmv1alpha1.VirtualMachineResources) *vmv1alpha1.VirtualMachineInstanceSpec {
	size := instancetype.Resources(spec)
	if has == nil || size == nil || equality.Semantic.DeepEqual(has, size) {
		return spec
	}
	spec = spec.DeepCopy()
	if has.VCPUs != size.VCPUs {
		if perSocket := size.VCPUs / max(spec.CPU.Sockets, 1); has.VCPUs%perSocket == 0 {
			spec.CPU.Sockets = has.VCPUs / perSocket
		} else {
			spec.CPU.Sockets, spec.CPU.Cores, spec.CPU.Threads = has.VCPUs, 1, 1
		}
	}
	if spec.Memory != nil && has.Memory != nil {
		memory := has.Memory.DeepCopy()
		spec.Memory.Guest = &memory
	}
	return spec
}
