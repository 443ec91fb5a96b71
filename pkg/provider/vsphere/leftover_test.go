// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestOnlyALeftoverIsCleanedUp(t *testing.T) {
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	off, on := newRequest("off", libraryImage()), newRequest("on", libraryImage())
	off.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("one VM is off and one runs", func() bool {
		return running(on)() && isTrue(&off.VM.Status, vmv1alpha1.ConditionPowerStateSynced)
	}, off, on)

	foreign := p.want(off)
	foreign.Owner.UID = "another"
	p.creator.CleanUp(t.Context(), foreign)
	p.creator.CleanUp(t.Context(), p.want(on))
	if got := len(inVCenter(t, ready)); got != 2 {
		t.Errorf("vCenter has %d VMs, want both: one is another's, one runs", got)
	}
	p.creator.CleanUp(t.Context(), p.want(off))
	if vms := inVCenter(t, ready); len(vms) != 1 || vms["team-a/off"].Name != "" {
		t.Errorf("vCenter has %d VMs, want only the one that runs", len(vms))
	}
}
