// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// A revert replaces the configuration and the power state. Later steps would change them to a spec that is about to be
// replaced.
func TestSteps_RunInTheOrderOfTheSpecificationExceptRevert(t *testing.T) {
	var got []string
	for _, s := range steps {
		got = append(got, s.name)
	}
	if diff := cmp.Diff([]string{"schema upgrade", "status", "backup", "revert", "config", "power state", "disk promotion"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestMake_HandlesTheErrorOfEachStep(t *testing.T) {
	retry, stop := errors.New("again"), &provider.NoRequeueError{Err: errors.New("never")}
	all := []string{"schema upgrade", "status", "backup", "revert", "config", "power state", "disk promotion"}
	saved := steps
	defer func() { steps = saved }()
	for _, tc := range []struct {
		name        string
		step        string
		err         error
		poweringOff bool
		ran         []string
	}{
		{"schema upgrade fails, the others continue", "schema upgrade", retry, false, all},
		{"schema upgrade ends", "schema upgrade", stop, false, all[:1]},
		{"status fails, the others continue", "status", retry, false, all},
		{"status ends", "status", stop, false, all[:2]},
		{"status ends, also during power off", "status", stop, true, all[:2]},
		{"revert is retried, the others continue", "revert", retry, false, all},
		{"backup fails, the others continue", "backup", retry, false, all},
		{"backup ends", "backup", stop, false, all[:3]},
		{"backup ends, also during power off", "backup", stop, true, all[:3]},
		{"config fails, the others continue", "config", retry, false, all},
		{"config does not end the plan of a VM that has run", "config", stop, false, all},
		{"config does not end the plan during power off", "config", stop, true, all},
		{"power fails, the others continue", "power state", retry, false, all},
		{"power ends", "power state", stop, false, all[:6]},
		{"power ends, also during power off", "power state", stop, true, all[:6]},
		{"promotion is the last", "disk promotion", retry, false, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ran []string
			steps = nil
			for _, s := range saved {
				s.run = func(*Input, *Plan) error {
					ran = append(ran, s.name)
					if s.name == tc.step {
						return tc.err
					}
					return nil
				}
				steps = append(steps, s)
			}
			in := Input{VM: &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{PowerState: vmv1alpha1.PoweredOn}}}
			in.Observation.PowerState = vmv1alpha1.PoweredOn
			if tc.poweringOff {
				in.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			}
			_, err := Make(in)
			if diff := cmp.Diff(tc.ran, ran); diff != "" {
				t.Errorf("steps that ran (-want +got):\n%s", diff)
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
		})
	}
}

func TestMake_EndsWithAnOperationAndReturnsEarlierErrors(t *testing.T) {
	saved := steps
	defer func() { steps = saved }()
	retry := errors.New("again")
	steps = []step{
		{name: "status", run: func(*Input, *Plan) error { return retry }},
		{name: "config", run: func(_ *Input, p *Plan) error {
			p.Operation = &driver.Operation{Kind: driver.KindReconfigure}
			return nil
		}},
		{name: "power state", run: func(*Input, *Plan) error { t.Error("a step ran after an operation was planned"); return nil }},
	}
	got, err := Make(Input{VM: &vmv1alpha1.VirtualMachine{}})
	if got.Operation == nil || !errors.Is(err, retry) {
		t.Errorf("operation %v, error %v; want both", got.Operation, err)
	}
}

func TestMake_KeepsTheErrorOfEveryStep(t *testing.T) {
	saved := steps
	defer func() { steps = saved }()
	late, soon, failed := &provider.RequeueError{After: time.Minute}, &provider.RequeueError{After: time.Second}, errors.New("out of order")
	steps = nil
	for _, err := range []error{late, soon, failed} {
		steps = append(steps, step{name: err.Error(), run: func(*Input, *Plan) error { return err }})
	}
	_, err := Make(Input{VM: &vmv1alpha1.VirtualMachine{}})
	for _, want := range []error{late, soon, failed} {
		if !errors.Is(err, want) {
			t.Errorf("error %v does not have %v", err, want)
		}
	}
}

func TestIsOutdated_AfterAChangeOfTheSpec(t *testing.T) {
	const hard, soft = vmv1alpha1.PowerOpModeHard, vmv1alpha1.PowerOpModeSoft
	on, off, suspended := vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
	for _, tc := range []struct {
		name          string
		kind          driver.Kind
		waitsForGuest bool
		desired       vmv1alpha1.PowerState
		spec          vmv1alpha1.PowerOpMode
		want          bool
	}{
		{"power off", driver.KindPowerOff, true, off, soft, false},
		{"power off, on again", driver.KindPowerOff, true, on, soft, true},
		{"power off, on by default", driver.KindPowerOff, true, "", soft, true},
		{"power off, now hard", driver.KindPowerOff, true, off, hard, true},
		{"hard power off", driver.KindPowerOff, false, off, hard, false},
		{"suspend", driver.KindSuspend, true, suspended, soft, false},
		{"suspend, off instead", driver.KindSuspend, true, off, soft, true},
		{"suspend, now hard", driver.KindSuspend, true, suspended, hard, true},
		{"restart", driver.KindRestart, true, on, soft, false},
		{"restart, on by default", driver.KindRestart, true, "", soft, false},
		{"restart, off instead", driver.KindRestart, true, off, soft, true},
		{"restart, suspended instead", driver.KindRestart, true, suspended, soft, true},
		{"restart, now hard", driver.KindRestart, true, on, hard, true},
		{"hard restart, off instead", driver.KindRestart, false, off, hard, false},
		{"create", driver.KindCreate, false, off, hard, false},
		{"power on", driver.KindPowerOn, false, off, hard, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{
				PowerState: tc.desired, PowerOffMode: tc.spec, SuspendMode: tc.spec, RestartMode: tc.spec,
			}}
			if got := IsOutdated(driver.Operation{Kind: tc.kind, WaitsForGuest: tc.waitsForGuest}, vm); got != tc.want {
				t.Errorf("outdated = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestIsOutdated_AfterAChangeOfTheGroup(t *testing.T) {
	on, off, suspended := vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
	for name, tc := range map[string]struct {
		kind       driver.Kind
		groupState vmv1alpha1.PowerState
		want       bool
	}{
		"power off as the group requests":                {driver.KindPowerOff, off, false},
		"power off, the group is on again":               {driver.KindPowerOff, on, true},
		"power off, no longer requested by the group":    {driver.KindPowerOff, "", true},
		"suspend as the group requests":                  {driver.KindSuspend, suspended, false},
		"suspend, no longer requested by the group":      {driver.KindSuspend, "", true},
		"restart, and the group is on":                   {driver.KindRestart, on, false},
		"restart, and the group requests no power state": {driver.KindRestart, "", false},
		"restart, and the group is powered off":          {driver.KindRestart, off, true},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{GroupName: "shop"}, Status: vmv1alpha1.VirtualMachineStatus{InheritedPowerState: tc.groupState}}
			if got := IsOutdated(driver.Operation{Kind: tc.kind, WaitsForGuest: true}, vm); got != tc.want {
				t.Errorf("outdated = %v, want %v", got, tc.want)
			}
		})
	}
}
