// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestDeletePowerOff_FollowsTheSpec(t *testing.T) {
	const hard, soft, try = vmv1alpha1.PowerOpModeHard, vmv1alpha1.PowerOpModeSoft, vmv1alpha1.PowerOpModeTrySoft
	type deletion = vmv1alpha1.VirtualMachineDeletion
	const grace = 7 * time.Second
	for name, tc := range map[string]struct {
		mode     vmv1alpha1.PowerOpMode
		deletion *deletion
		want     powerOff
		detail   string
	}{
		"by default":                                    {want: powerOff{mode: try, grace: grace}, detail: "TrySoft"},
		"spec.powerOffMode Hard":                        {mode: hard, want: powerOff{mode: hard, grace: grace}, detail: "Hard"},
		"spec.powerOffMode Soft":                        {mode: soft, want: powerOff{mode: try, grace: grace}, detail: "TrySoft"},
		"empty spec.deletion":                           {mode: hard, deletion: &deletion{}, want: powerOff{mode: hard, grace: grace}, detail: "Hard"},
		"spec.deletion Hard and spec.powerOffMode Soft": {mode: soft, deletion: &deletion{PowerOffMode: hard}, want: powerOff{mode: hard, grace: grace}, detail: "Hard"},
		"spec.deletion Soft and spec.powerOffMode Hard": {mode: hard, deletion: &deletion{PowerOffMode: soft}, want: powerOff{mode: try, grace: grace}, detail: "TrySoft"},
		"timeout in spec.deletion":                      {deletion: &deletion{TimeoutSeconds: 90}, want: powerOff{mode: try, grace: 90 * time.Second, own: true}, detail: "TrySoft within 1m30s"},
		"timeout with Hard":                             {mode: hard, deletion: &deletion{TimeoutSeconds: 90}, want: powerOff{mode: hard, grace: 90 * time.Second, own: true}, detail: "Hard"},
	} {
		t.Run(name, func(t *testing.T) {
			got := deletePowerOff(&vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{PowerOffMode: tc.mode, Deletion: tc.deletion}}, grace)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(powerOff{})); diff != "" || got.detail() != tc.detail {
				t.Errorf("power off %q, want %q (-want +got):\n%s", got.detail(), tc.detail, diff)
			}
			own := driver.Operation{Kind: driver.KindPowerOff, Detail: tc.detail, WaitsForGuest: tc.want.mode != hard}
			if isInterruptible(&own, got) {
				t.Error("a deletion interrupts its own power off")
			}
			if other := (driver.Operation{Kind: driver.KindPowerOff, Detail: "TrySoft within 1h0m0s", WaitsForGuest: true}); !isInterruptible(&other, got) {
				t.Error("a deletion waits for a power off with another timeout")
			}
		})
	}
}
