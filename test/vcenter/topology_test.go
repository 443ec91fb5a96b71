// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func TestCoresPerSocket_AreChosenAtPowerOnUnlessSet(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	cores := func(vm *object.VirtualMachine) (int32, bool) {
		t.Helper()
		hardware := read(ctx, t, c, vm).Config.Hardware
		auto := hardware.AutoCoresPerSocket != nil && *hardware.AutoCoresPerSocket
		return *hardware.NumCoresPerSocket, auto
	}
	for name, test := range map[string]struct {
		version string
		cpus    int32
		given   *int32
		on      int32
		auto    bool
	}{
		"version 19":                 {"vmx-19", 4, nil, 1, false},
		"version 20":                 {"vmx-20", 4, nil, 4, true},
		"version 21, zero":           {"vmx-21", 6, types.NewInt32(0), 6, true},
		"version 21, given":          {"vmx-21", 4, types.NewInt32(2), 2, false},
		"version 21, more than fits": {"vmx-21", 24, nil, 12, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := machine("cores")
			spec.Version, spec.NumCPUs, spec.NumCoresPerSocket = test.version, test.cpus, test.given
			vm := create(ctx, t, c, p, spec)
			if _, auto := cores(vm); auto != test.auto {
				t.Errorf("automatic: %t, want %t", auto, test.auto)
			}
			task, err := vm.PowerOn(ctx)
			wait(ctx, t, task, err)
			if got, _ := cores(vm); got != test.on {
				t.Errorf("%d cores per socket when it runs, want %d", got, test.on)
			}
			task, err = vm.PowerOff(ctx)
			wait(ctx, t, task, err)
			// If the number is not divisible by the last size, the size is chosen again.
			task, err = vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 3, NumCoresPerSocket: types.NewInt32(0)})
			wait(ctx, t, task, err)
			if _, auto := cores(vm); auto != (test.version != "vmx-19") {
				t.Errorf("automatic after the manual size was removed: %t", auto)
			}
			task, err = vm.Destroy(ctx)
			wait(ctx, t, task, err)
		})
	}
}
