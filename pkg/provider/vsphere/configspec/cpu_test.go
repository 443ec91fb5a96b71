// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// An image may have any number of cores per socket. From hardware version 20 on, vSphere chooses the number if it
// is not set.
func TestCPU_NewVMGetsCoresPerSocket(t *testing.T) {
	for _, tc := range []struct {
		name        string
		cpu         vmv1alpha1.VirtualMachineCPU
		cpus, cores int32
	}{
		{"one core", vmv1alpha1.VirtualMachineCPU{Sockets: 3, Cores: 1, Threads: 1}, 3, 1},
		{"two cores", vmv1alpha1.VirtualMachineCPU{Sockets: 2, Cores: 2}, 4, 2},
		{"threads count as cores", vmv1alpha1.VirtualMachineCPU{Sockets: 1, Threads: 2}, 2, 2},
		{"chosen by vSphere", vmv1alpha1.VirtualMachineCPU{Sockets: 3}, 3, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Spec(Differences(Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{CPU: &tc.cpu}}}}, &mo.VirtualMachine{}))
			if got.NumCoresPerSocket == nil {
				t.Fatalf("cores per socket are not set with %d CPUs", got.NumCPUs)
			}
			if got.NumCPUs != tc.cpus || *got.NumCoresPerSocket != tc.cores {
				t.Errorf("%d CPUs with %d per socket, want %d with %d", got.NumCPUs, *got.NumCoresPerSocket, tc.cpus, tc.cores)
			}
		})
	}
}

func TestCPU_CoresChosenByVSphereStayUntilThePowerCycle(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cpu    vmv1alpha1.VirtualMachineCPU
		power  types.VirtualMachinePowerState
		hotAdd bool
		want   []Difference
	}{
		{"running, not requested", vmv1alpha1.VirtualMachineCPU{Sockets: 4}, types.VirtualMachinePowerStatePoweredOn, false, nil},
		{"running, the default of one", vmv1alpha1.VirtualMachineCPU{Sockets: 4, Cores: 1, Threads: 1}, types.VirtualMachinePowerStatePoweredOn, false, nil},
		{"running, two requested", vmv1alpha1.VirtualMachineCPU{Sockets: 2, Cores: 2}, types.VirtualMachinePowerStatePoweredOn, false,
			[]Difference{{Path: "cpu.sockets", Running: "1", Desired: "2"}, {Path: "cpu.cores", Running: "4", Desired: "2"}}},
		{"running, more with hot-add", vmv1alpha1.VirtualMachineCPU{Sockets: 8, Cores: 1, HotAddEnabled: ptr(true)}, types.VirtualMachinePowerStatePoweredOn, true,
			[]Difference{{Path: "cpu.sockets", Running: "4", Desired: "8", Live: true}}},
		{"running, more that fill no socket", vmv1alpha1.VirtualMachineCPU{Sockets: 6, Cores: 1, HotAddEnabled: ptr(true)}, types.VirtualMachinePowerStatePoweredOn, true,
			[]Difference{{Path: "cpu.sockets", Running: "4", Desired: "6"}}},
		{"off, not requested", vmv1alpha1.VirtualMachineCPU{Sockets: 4}, types.VirtualMachinePowerStatePoweredOff, false, nil},
		{"off, requested", vmv1alpha1.VirtualMachineCPU{Sockets: 1, Cores: 4}, types.VirtualMachinePowerStatePoweredOff, false,
			[]Difference{{Path: "cpu.cores", Desired: "4"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			w.Effective.CPU = &tc.cpu
			vm.Config.Version, vm.Config.CpuHotAddEnabled = "vmx-21", &tc.hotAdd
			vm.Config.Hardware.NumCPU, vm.Config.Hardware.NumCoresPerSocket = 4, ptr(int32(4))
			vm.Config.Hardware.AutoCoresPerSocket = ptr(true)
			vm.Runtime.PowerState = tc.power
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// vSphere refuses a CPU count that does not fill the sockets.
func TestCPU_CountThatDoesNotFillSocketsResetsCores(t *testing.T) {
	w, vm := want(), have()
	w.Effective.CPU.Sockets = 3
	vm.Config.Hardware.NumCPU, vm.Config.Hardware.NumCoresPerSocket = 4, ptr(int32(2))
	got := Spec(Differences(w, vm))
	if got.NumCPUs != 3 || got.NumCoresPerSocket == nil || *got.NumCoresPerSocket != 0 {
		t.Errorf("%d CPUs with %v per socket; want 3 CPUs and 0 per socket, which lets vSphere choose", got.NumCPUs, got.NumCoresPerSocket)
	}
}
