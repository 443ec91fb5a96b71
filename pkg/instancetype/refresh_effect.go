// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

// refreshFields returns the differences between the effective specs before and after a refresh, and when they take
// effect. running, if set, may differ from both while earlier changes wait for a power cycle.
func refreshFields(vm *vmv1alpha1.VirtualMachine, running, current, desired *hardware.Spec) []vmv1alpha1.RefreshField {
	runs := vm.Status.PowerState == vmv1alpha1.PoweredOn || vm.Status.PowerState == vmv1alpha1.Suspended
	if running == nil || !runs {
		running = current
	}
	waits := map[string]vmv1alpha1.RefreshEffect{}
	for _, d := range hardware.Diff(running, desired) {
		waits[d.Path] = d.Effect
	}
	var fields []vmv1alpha1.RefreshField
	for _, d := range hardware.Diff(current, desired) {
		effect, differs := waits[d.Path]
		switch {
		case effect == vmv1alpha1.RefreshEffectNone,
			d.Path == hardware.HardwareVersion && desired.MinHardwareVersion <= vm.Status.HardwareVersion:
			effect = vmv1alpha1.RefreshEffectNone
		case !runs, !differs:
			// The VM is powered off and will be reconfigured, or it already runs with the value.
			effect = vmv1alpha1.RefreshEffectLive
		case vm.Spec.UpdateStrategy == vmv1alpha1.UpdateStrategyStage:
			effect = vmv1alpha1.RefreshEffectRestart
		}
		fields = append(fields, vmv1alpha1.RefreshField{Path: d.Path, Old: d.Old, New: d.New, Effect: effect})
	}
	return fields
}
