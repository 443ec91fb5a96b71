// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// promoteMode returns spec.promoteDisksMode or its default.
func promoteMode(vm *vmv1alpha1.VirtualMachine) vmv1alpha1.PromoteDisksMode {
	if vm.Spec.PromoteDisksMode == "" {
		return vmv1alpha1.PromoteDisksModeOnline
	}
	return vm.Spec.PromoteDisksMode
}

// promotionState returns the power state in which disks are promoted.
func promotionState(mode vmv1alpha1.PromoteDisksMode) vmv1alpha1.PowerState {
	if mode == vmv1alpha1.PromoteDisksModeOffline {
		return vmv1alpha1.PoweredOff
	}
	return vmv1alpha1.PoweredOn
}

// reconcilePromotion plans the promotion of disks that depend on parent disks outside the virtual machine. If a
// promotion is not possible now, an event follows when this changes, so no requeue is needed.
func reconcilePromotion(in *Input, p *Plan) error {
	mode := promoteMode(in.VM)
	if mode == vmv1alpha1.PromoteDisksModeDisabled || !in.Observation.Readable || in.Observation.DependentDisks == 0 || in.Observation.Trouble != "" {
		return nil
	}
	pending := func(why string) {
		p.False(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionPending,
			fmt.Sprintf("%d disk(s) depend on parent disks outside the virtual machine: %s", in.Observation.DependentDisks, why))
	}
	switch {
	case in.Observation.PowerState != promotionState(mode):
		pending(fmt.Sprintf("spec.promoteDisksMode is %s and the virtual machine is %s", mode, in.Observation.PowerState))
		return nil
	case in.Observation.PromotionObstacle != "":
		pending(in.Observation.PromotionObstacle)
		return nil
	}
	op := in.Machine.Promote(in.Progress)
	op.Detail = string(mode)
	if hold := in.Last.HoldFor(op, in.Now); hold != nil {
		p.Held = true
		p.False(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionFailed, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	p.False(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionRunning, "")
	p.Operation = &op
	return nil
}

// isPromotionOutdated reports whether a running promotion no longer matches the object, or prevents a power operation.
func isPromotionOutdated(op driver.Operation, vm *vmv1alpha1.VirtualMachine) bool {
	in := Input{VM: vm}
	mode := promoteMode(vm)
	return op.Detail != string(mode) || in.desiredPowerState() != promotionState(mode)
}
