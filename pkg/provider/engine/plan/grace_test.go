// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestGrace_DistinguishesZeroFromUnset(t *testing.T) {
	const byDefault = time.Duration(0)
	seconds := func(n int64) *vmv1alpha1.VirtualMachineInstanceSpec {
		return &vmv1alpha1.VirtualMachineInstanceSpec{TerminationGracePeriodSeconds: &n}
	}
	for name, tc := range map[string]struct {
		effective *vmv1alpha1.VirtualMachineInstanceSpec
		want      time.Duration
	}{
		"unknown spec":  {nil, byDefault},
		"unset":         {&vmv1alpha1.VirtualMachineInstanceSpec{}, byDefault},
		"zero":          {seconds(0), time.Millisecond},
		"half a minute": {seconds(30), 30 * time.Second},
		"maximum":       {seconds(1<<31 - 1), (1<<31 - 1) * time.Second},
	} {
		if got := Grace(&driver.Desired{Desired: provider.Desired{Effective: tc.effective}}); got != tc.want {
			t.Errorf("%s: grace %s, want %s", name, got, tc.want)
		}
	}
}
