// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// promotable is a machine with disks only.
type promotable struct{ driver.Machine }

func (promotable) Promote(func(int32)) driver.Operation {
	return driver.Operation{Kind: driver.KindPromote, Run: func(context.Context) error { return nil }}
}

func TestPromotion_DependsOnModeAndPowerState(t *testing.T) {
	const online, offline, disabled = vmv1alpha1.PromoteDisksModeOnline, vmv1alpha1.PromoteDisksModeOffline, vmv1alpha1.PromoteDisksModeDisabled
	failed := Outcomes{{Kind: driver.KindPromote, Fingerprint: Fingerprint(driver.Operation{Kind: driver.KindPromote, Detail: "Online"}), Err: errors.New("no space"), Next: now.Add(time.Minute)}}
	for name, tc := range map[string]struct {
		mode        vmv1alpha1.PromoteDisksMode
		observation provider.Observation
		state       vmv1alpha1.PowerState
		last        Outcomes
		want        string
	}{
		"online by default":    {"", provider.Observation{DependentDisks: 2}, vmv1alpha1.PoweredOn, nil, "starts Running "},
		"online and off":       {online, provider.Observation{DependentDisks: 2}, vmv1alpha1.PoweredOff, nil, "Pending 2 disk(s) depend on parent disks outside the virtual machine: spec.promoteDisksMode is Online and the virtual machine is PoweredOff"},
		"online and suspended": {online, provider.Observation{DependentDisks: 1}, vmv1alpha1.Suspended, nil, "Pending 1 disk(s) depend on parent disks outside the virtual machine: spec.promoteDisksMode is Online and the virtual machine is Suspended"},
		"offline":              {offline, provider.Observation{DependentDisks: 1}, vmv1alpha1.PoweredOff, nil, "starts Running "},
		"offline and on":       {offline, provider.Observation{DependentDisks: 1}, vmv1alpha1.PoweredOn, nil, "Pending 1 disk(s) depend on parent disks outside the virtual machine: spec.promoteDisksMode is Offline and the virtual machine is PoweredOn"},
		"disabled":             {disabled, provider.Observation{DependentDisks: 1}, vmv1alpha1.PoweredOn, nil, ""},
		"nothing to promote":   {online, provider.Observation{}, vmv1alpha1.PoweredOn, nil, ""},
		"an obstacle":          {online, provider.Observation{DependentDisks: 1, PromotionObstacle: "it has snapshots"}, vmv1alpha1.PoweredOn, nil, "Pending 1 disk(s) depend on parent disks outside the virtual machine: it has snapshots"},
		"a recent failure":     {online, provider.Observation{DependentDisks: 1}, vmv1alpha1.PoweredOn, failed, "again in 1m0s TaskError no space"},
		"an unreachable host":  {online, provider.Observation{DependentDisks: 1, Trouble: "its host does not respond"}, vmv1alpha1.PoweredOn, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{}
			vm.Spec.PromoteDisksMode = tc.mode
			tc.observation.PowerState, tc.observation.Readable = tc.state, true
			var p Plan
			err := reconcilePromotion(&Input{VM: vm, Want: &driver.Desired{}, Machine: promotable{}, Observation: tc.observation, Last: tc.last, Now: now}, &p)
			got := ""
			if c := meta.FindStatusCondition(p.Conditions, vmv1alpha1.ConditionDiskPromotionSynced); c != nil {
				got = c.Reason + " " + c.Message
			}
			if p.Operation != nil {
				got = "starts " + got
			}
			if err != nil {
				got = "again in 1m0s " + got
			}
			if got != tc.want {
				t.Errorf("%q, want %q (error %v)", got, tc.want, err)
			}
		})
	}
}

func TestIsPromotionOutdated_AfterAChangeOfTheSpec(t *testing.T) {
	op := driver.Operation{Kind: driver.KindPromote, Detail: "Online"}
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachineSpec)
		want   bool
	}{
		"nothing":      {func(*vmv1alpha1.VirtualMachineSpec) {}, false},
		"power off":    {func(s *vmv1alpha1.VirtualMachineSpec) { s.PowerState = vmv1alpha1.PoweredOff }, true},
		"suspend":      {func(s *vmv1alpha1.VirtualMachineSpec) { s.PowerState = vmv1alpha1.Suspended }, true},
		"no promotion": {func(s *vmv1alpha1.VirtualMachineSpec) { s.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled }, true},
		"another mode": {func(s *vmv1alpha1.VirtualMachineSpec) { s.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOffline }, true},
	} {
		vm := &vmv1alpha1.VirtualMachine{}
		tc.change(&vm.Spec)
		if got := IsOutdated(op, vm); got != tc.want {
			t.Errorf("%s: outdated = %v, want %v", name, got, tc.want)
		}
	}
}
