// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// transitions are the reasons of PowerStateSynced during an operation, by kind.
var transitions = map[driver.Kind]string{
	driver.KindPowerOn:  vmv1alpha1.ReasonPoweringOn,
	driver.KindPowerOff: vmv1alpha1.ReasonPoweringOff,
	driver.KindSuspend:  vmv1alpha1.ReasonSuspending,
	driver.KindRestart:  vmv1alpha1.ReasonRestarting,
}

// reportPower sets PowerStateSynced from the observation. A later step may replace it. If the plan ends earlier, the
// condition is still current.
func (in *Input) reportPower(p *Plan) {
	switch desired := in.desiredPowerState(); {
	case in.Observation.Trouble != "":
		in.setUnknown(p, vmv1alpha1.ConditionPowerStateSynced)
	case in.Observation.PowerState == desired:
		p.True(vmv1alpha1.ConditionPowerStateSynced)
	case in.Observation.Paused:
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonPaused, provider.ErrPaused.Error())
	default:
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.PowerTransitionReason(desired), "")
		if reason, message := in.whyLeftOff(); reason != "" {
			p.False(vmv1alpha1.ConditionPowerStateSynced, reason, message)
		}
	}
}

// waitForStep reports in PowerStateSynced that a power operation waits for an earlier step.
func (p *Plan) waitForStep(s step, reason string) {
	c := conditions.Find(p.Conditions, vmv1alpha1.ConditionPowerStateSynced)
	if s.condition == vmv1alpha1.ConditionPowerStateSynced || c == nil || c.Status != metav1.ConditionFalse || c.Message != "" {
		return
	}
	c.Reason, c.Message = reason, "waiting for "+s.condition
}

// reconcilePower changes the power state to the desired one, and restarts on request.
func reconcilePower(in *Input, p *Plan) error {
	if err := in.troubleError(); err != nil {
		return err
	}
	current, desired := in.Observation.PowerState, in.desiredPowerState()
	switch {
	case current == desired && desired == vmv1alpha1.PoweredOn:
		p.True(vmv1alpha1.ConditionPowerStateSynced)
		return restart(in, p)
	case current == desired:
		p.True(vmv1alpha1.ConditionPowerStateSynced)
		return nil
	case desired == vmv1alpha1.PoweredOn:
		return powerOn(in, p)
	case desired == vmv1alpha1.PoweredOff:
		return in.operate(p, in.Machine.PowerOff(OffMode(in.VM, current), Grace(in.Want)), vmv1alpha1.ReasonPoweringOff)
	case current == vmv1alpha1.PoweredOff && !in.hasRun():
		// The suspension was requested before the first start, so the VM must be started first.
		return powerOn(in, p)
	case current == vmv1alpha1.PoweredOn:
		return in.operate(p, in.Machine.Suspend(mode(in.VM.Spec.SuspendMode), Grace(in.Want)), vmv1alpha1.ReasonSuspending)
	}
	err := fmt.Errorf("a virtual machine that is %s cannot become %s: power it on first", current, desired)
	p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid, err.Error())
	return &provider.NoRequeueError{Err: err}
}

// operate plans an operation, unless the same operation recently failed or had no effect.
func (in *Input) operate(p *Plan, op driver.Operation, reason string) error {
	if hold := in.Last.HoldFor(op, in.Now); hold != nil && (hold.Reason != vmv1alpha1.ReasonBackOff || !in.startedSince(in.Last.Last(op.Kind))) {
		p.Held = true
		p.False(vmv1alpha1.ConditionPowerStateSynced, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	p.False(vmv1alpha1.ConditionPowerStateSynced, reason, "")
	p.Operation = &op
	return nil
}

// powerOn plans to power on. It waits for a manual start if the policy requires one, for the effective spec, for the
// configuration, for claims, for pre-start checks, and for a requested time.
func powerOn(in *Input, p *Plan) error {
	if reason, message := in.whyLeftOff(); reason != "" {
		p.False(vmv1alpha1.ConditionPowerStateSynced, reason, message)
		return nil
	}
	if in.Want.Effective == nil {
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "the effective spec cannot be resolved")
		return nil
	}
	if p.configBlocksPowerOn {
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionConfigurationSynced)
		return nil
	}
	if volumes := in.unattachedVolumes(p.refused); len(volumes) > 0 {
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites,
			"waiting for "+conditions.JoinLimited(volumes, ", ")+" to be attached")
		return nil
	}
	if held := in.VM.PowerOnBlockedMessage(); held != "" {
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonHeldByCheck, "power on is "+held)
		return nil
	}
	if v, ok := in.VM.Annotations[vmv1alpha1.AnnotationDelayedPowerOn]; ok {
		t, ok := limits.ParseTime(v)
		if !ok {
			err := fmt.Errorf("annotation %s: %q: %s", vmv1alpha1.AnnotationDelayedPowerOn, v, limits.AllowedTime)
			p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid, err.Error())
			return &provider.NoRequeueError{Err: err}
		}
		if wait := t.Sub(in.Now); wait > 0 {
			p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonDelayed, "power on is delayed until "+v)
			return &provider.RequeueError{After: wait, Reason: "power on is delayed"}
		}
	}
	return in.operate(p, in.Machine.PowerOn(), vmv1alpha1.ReasonPoweringOn)
}

// unattachedVolumes returns the volumes of a powered-off VM whose claims must be attached before power on. A refused
// claim cannot be attached and is omitted. A suspended VM is omitted because its guest already knows its disks.
func (in *Input) unattachedVolumes(refused driver.Refusals) []string {
	if in.Observation.PowerState != vmv1alpha1.PoweredOff {
		return nil
	}
	var out []string
	for _, v := range in.Want.Effective.Volumes {
		claim := in.Want.Claims[v.Name]
		if v.PersistentVolumeClaim != nil && (claim.VolumeID == "" || !slices.Contains(in.Observation.RetainedDisks, claim.VolumeID)) &&
			!slices.Contains(refused.Volumes, v.Name) {
			out = append(out, hardware.Volume(v.Name))
		}
	}
	return out
}

// OffMode returns how vm is powered off from the power state current. A suspended guest cannot be shut down.
func OffMode(vm *vmv1alpha1.VirtualMachine, current vmv1alpha1.PowerState) vmv1alpha1.PowerOpMode {
	if current == vmv1alpha1.Suspended {
		return vmv1alpha1.PowerOpModeHard
	}
	return mode(vm.Spec.PowerOffMode)
}

// mode returns m or its default.
func mode(m vmv1alpha1.PowerOpMode) vmv1alpha1.PowerOpMode {
	if m == "" {
		return vmv1alpha1.PowerOpModeTrySoft
	}
	return m
}

// zeroGrace represents a grace period of 0, because 0 means the driver's default.
const zeroGrace = time.Millisecond

// Grace returns the time limit for the guest; 0 means the driver's default.
func Grace(w *driver.Desired) time.Duration {
	if w.Effective == nil || w.Effective.TerminationGracePeriodSeconds == nil {
		return 0
	}
	return max(time.Duration(*w.Effective.TerminationGracePeriodSeconds)*time.Second, zeroGrace)
}

// IsOutdated reports whether a running operation that waits for the guest no longer matches the desired state.
func IsOutdated(op driver.Operation, vm *vmv1alpha1.VirtualMachine) bool {
	if op.Kind == driver.KindPromote {
		return isPromotionOutdated(op, vm)
	}
	if !op.WaitsForGuest {
		return false // it waits only for the hypervisor
	}
	in := Input{VM: vm, Observation: provider.Observation{PowerState: vmv1alpha1.PoweredOn}} // only a running guest can be shut down
	switch op.Kind {
	case driver.KindPowerOff:
		return in.desiredPowerState() != vmv1alpha1.PoweredOff || vm.Spec.PowerOffMode == vmv1alpha1.PowerOpModeHard
	case driver.KindSuspend:
		return in.desiredPowerState() != vmv1alpha1.Suspended || vm.Spec.SuspendMode == vmv1alpha1.PowerOpModeHard
	case driver.KindRestart:
		return in.desiredPowerState() != vmv1alpha1.PoweredOn || vm.Spec.RestartMode == vmv1alpha1.PowerOpModeHard
	case driver.KindCreate, driver.KindCheck, driver.KindSearch, driver.KindReconfigure, driver.KindPowerOn, driver.KindPromote, driver.KindDelete,
		driver.KindPublish, driver.KindWithdraw, driver.KindSnapshot, driver.KindRemoveSnapshot, driver.KindRevert,
		driver.KindCopyImage, driver.KindRemoveImage, driver.KindCollectImages:
	}
	return false
}
