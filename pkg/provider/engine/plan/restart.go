// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// restart restarts a running VM once for each new value of spec.nextRestartTime. Changes that need a power cycle are
// applied as part of the restart.
func restart(in *Input, p *Plan) error {
	t, due, err := restartDue(in)
	if err != nil {
		return err
	}
	if !due {
		if wait := t.Sub(in.Now); wait > 0 {
			return &provider.RequeueError{After: wait, Reason: "a restart is scheduled"}
		}
		return nil
	}
	r := driver.Restart{Requested: t, Mode: mode(in.VM.Spec.RestartMode), GracePeriod: Grace(in.Want)}
	if in.Want.Effective != nil {
		_, r.Changes = in.splitByTime(in.compare().Differences)
	}
	if held := in.VM.PowerOnBlockedMessage(); held != "" && len(r.Changes) > 0 {
		// The changes need a power cycle, and the VM would stay powered off.
		p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonHeldByCheck, "the power on of the restart is "+held)
		return nil
	}
	return in.operate(p, in.Machine.Restart(r), vmv1alpha1.ReasonRestarting)
}

// restartDue returns the time in spec.nextRestartTime, and whether a restart is due now. An empty field requests no
// restart.
func restartDue(in *Input) (t time.Time, due bool, err error) {
	if in.VM.Spec.NextRestartTime == "" {
		return time.Time{}, false, nil
	}
	// Validation has the same rule. Objects that were stored before this rule may have the zero time. It cannot be
	// recorded, so the restart would be repeated forever.
	t, ok := limits.ParseTime(in.VM.Spec.NextRestartTime)
	if !ok {
		return time.Time{}, false, &provider.NoRequeueError{Err: fmt.Errorf("spec.nextRestartTime: %q: %s", in.VM.Spec.NextRestartTime, limits.AllowedTime)}
	}
	return t, !t.After(in.Now) && in.isNewerThanLastRestart(t), nil
}

// isNewerThanLastRestart compares t with the last restart that is recorded in the virtual machine. If none is recorded,
// it uses the status, which has a resolution of seconds.
func (in *Input) isNewerThanLastRestart(t time.Time) bool {
	if last := in.Observation.LastRestart; last != nil {
		return t.After(last.Time)
	}
	last := in.VM.Status.LastRestartTime
	return last == nil || t.Truncate(time.Second).After(last.Time)
}
