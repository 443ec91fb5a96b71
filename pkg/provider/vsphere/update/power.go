// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// reconcilePower makes the power state as desired, and restarts on request.
func reconcilePower(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	if err := manageable(in); err != nil {
		return nil, err
	}
	current, desired := in.Facts.PowerState, in.desired()
	switch {
	case current == desired && desired == vmv1alpha1.PoweredOn:
		in.setTrue(st, vmv1alpha1.ConditionPowerStateSynced)
		return restart(in, st)
	case current == desired:
		in.setTrue(st, vmv1alpha1.ConditionPowerStateSynced)
		return nil, nil
	case desired == vmv1alpha1.PoweredOn:
		return powerOn(in, st)
	case desired == vmv1alpha1.PoweredOff:
		in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonPoweringOff, "")
		op := &Operation{Kind: operation.PowerOff, Mode: mode(in.VM.Spec.PowerOffMode), GracePeriod: in.grace()}
		if current == vmv1alpha1.Suspended {
			// A suspended guest cannot be asked.
			op.Mode = vmv1alpha1.PowerOpModeHard
		}
		return op, nil
	case current == vmv1alpha1.PoweredOn:
		in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonSuspending, "")
		return &Operation{Kind: operation.Suspend, Mode: mode(in.VM.Spec.SuspendMode), GracePeriod: in.grace()}, nil
	}
	err := fmt.Errorf("a virtual machine that is %s cannot become %s: power it on first", current, desired)
	in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid, err.Error())
	return nil, &provider.NoRequeueError{Err: err}
}

// powerOn is the only change of power state that waits: for the effective spec,
// for its configuration, and for the time of the annotation.
func powerOn(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	if in.Effective == nil {
		in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "the effective spec cannot be resolved")
		return nil, nil
	}
	if in.ConfigHeld != nil {
		in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionConfigurationSynced)
		return nil, nil
	}
	if v, ok := in.VM.Annotations[vmv1alpha1.AnnotationDelayedPowerOn]; ok {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			err = fmt.Errorf("annotation %s: %q is not an RFC 3339 time", vmv1alpha1.AnnotationDelayedPowerOn, v)
			in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid, err.Error())
			return nil, &provider.NoRequeueError{Err: err}
		}
		if wait := t.Sub(in.Now); wait > 0 {
			in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonDelayed, "power on waits until "+v)
			return nil, &provider.RequeueError{After: wait, Reason: "power on is delayed"}
		}
	}
	in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonPoweringOn, "")
	return &Operation{Kind: operation.PowerOn}, nil
}

// restart restarts a running VM once for each new time. What waits for a power
// cycle is applied with it.
func restart(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	t, due, err := restartDue(in)
	if err != nil {
		return nil, err
	}
	if !due {
		if wait := t.Sub(in.Now); wait > 0 {
			return nil, &provider.RequeueError{After: wait, Reason: "a restart is asked for at a later time"}
		}
		return nil, nil
	}
	in.setFalse(st, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonRestarting, "")
	op := &Operation{Kind: operation.Restart, Mode: mode(in.VM.Spec.RestartMode), GracePeriod: in.grace()}
	_, later := in.split()
	if in.Effective != nil && len(later) > 0 {
		op.Spec, op.Upgrade = reconfigure(later).Spec, configspec.Upgrade(later)
	}
	want := configspec.Want{Owner: in.Want.Owner, LastRestart: t}
	record := configspec.Spec(configspec.Differences(want, in.Observed))
	op.Record = &record
	op.TakeBack = &types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: observe.LastRestartKey, Value: observe.ExtraConfig(in.Observed, observe.LastRestartKey)},
	}}
	return op, nil
}

// restartDue returns the time of spec.nextRestartTime and whether it asks for a
// restart now. A zero time asks for nothing.
func restartDue(in *Input) (t time.Time, due bool, err error) {
	if in.VM.Spec.NextRestartTime == "" {
		return time.Time{}, false, nil
	}
	t, err = time.Parse(time.RFC3339Nano, in.VM.Spec.NextRestartTime)
	if err != nil {
		return time.Time{}, false, &provider.NoRequeueError{Err: fmt.Errorf("spec.nextRestartTime: %q is not an RFC 3339 time", in.VM.Spec.NextRestartTime)}
	}
	return t, !t.After(in.Now) && in.newerThanLastRestart(t), nil
}

// newerThanLastRestart compares with what the vSphere VM remembers and, where
// it remembers nothing, with the status, which has whole seconds.
func (in *Input) newerThanLastRestart(t time.Time) bool {
	if last := in.Facts.LastRestart; last != nil {
		return t.After(last.Time)
	}
	last := in.VM.Status.LastRestartTime
	return last == nil || t.Truncate(time.Second).After(last.Time)
}

// mode fills the default.
func mode(m vmv1alpha1.PowerOpMode) vmv1alpha1.PowerOpMode {
	if m == "" {
		return vmv1alpha1.PowerOpModeTrySoft
	}
	return m
}

// grace bounds a soft operation.
func (in *Input) grace() time.Duration {
	if in.Effective == nil || in.Effective.TerminationGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*in.Effective.TerminationGracePeriodSeconds) * time.Second
}
