// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// observed is a VM that runs, with its storage and its guest.
func observed(change func(*mo.VirtualMachine)) *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-42"}
	vm.Runtime.PowerState = vimtypes.VirtualMachinePowerStatePoweredOn
	vm.Runtime.ConnectionState = vimtypes.VirtualMachineConnectionStateConnected
	vm.Config = &vimtypes.VirtualMachineConfigInfo{ChangeVersion: "1", InstanceUuid: "uid", Hardware: vimtypes.VirtualHardware{NumCPU: 2, MemoryMB: 1024}}
	vm.Guest = &vimtypes.GuestInfo{ToolsRunningStatus: string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsRunning)}
	vm.Summary.Storage = &vimtypes.VirtualMachineStorageSummary{Committed: 100, Uncommitted: 50}
	change(vm)
	return vm
}

func observationOf(vm *mo.VirtualMachine) provider.Observation {
	return Observe(vm, &driver.Want{}, func(vimtypes.ManagedObjectReference) string { return "esx-1" })
}

func TestStorageInUseIsReported(t *testing.T) {
	got := observationOf(observed(func(*mo.VirtualMachine) {})).Storage
	if got == nil || got.Committed == nil || got.Committed.Value() != 100 || got.Provisioned == nil || got.Provisioned.Value() != 150 {
		t.Errorf("storage %+v, want 100 bytes in use and 150 provisioned", got)
	}
}

func TestToolsAreACondition(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mo.VirtualMachine)
		want   string
	}{
		"running": {func(*mo.VirtualMachine) {}, "True/Succeeded"},
		"not running": {func(vm *mo.VirtualMachine) {
			vm.Guest.ToolsRunningStatus = string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
		}, "False/WaitingForTools"},
		"powered off": {func(vm *mo.VirtualMachine) { vm.Runtime.PowerState = vimtypes.VirtualMachinePowerStatePoweredOff }, "False/PoweredOff"},
		"not told":    {func(vm *mo.VirtualMachine) { vm.Guest = nil }, "Unknown/UnknownState"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "none"
			if c := meta.FindStatusCondition(observationOf(observed(c.change)).Conditions, vmv1alpha1.ConditionGuestToolsReady); c != nil {
				got = string(c.Status) + "/" + c.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("GuestToolsReady (-want +got):\n%s", diff)
			}
		})
	}
}

// Another program can have customized the template, or the VM before Slipway adopted it.
func TestGuestCustomized_IsOfWhatTheObjectRequests(t *testing.T) {
	prep := &vmv1alpha1.VirtualMachineInstanceSpec{Bootstrap: &vmv1alpha1.VirtualMachineBootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}}}
	for name, tc := range map[string]struct {
		effective *vmv1alpha1.VirtualMachineInstanceSpec
		adopted   bool
		want      bool
	}{
		"a customization was requested": {prep, false, true},
		"the spec cannot be resolved":   {nil, false, true},
		"none was requested":            {&vmv1alpha1.VirtualMachineInstanceSpec{}, false, false},
		"it was adopted":                {prep, true, false},
	} {
		vm := observed(func(vm *mo.VirtualMachine) {
			vm.Guest.CustomizationInfo = &vimtypes.GuestInfoCustomizationInfo{CustomizationStatus: "TOOLSDEPLOYPKG_SUCCEEDED"}
			if tc.adopted {
				vm.Config.ExtraConfig = []vimtypes.BaseOptionValue{&vimtypes.OptionValue{Key: observe.AdoptedKey, Value: "uid"}}
			}
		})
		o := Observe(vm, &driver.Want{Desired: provider.Desired{Effective: tc.effective}, Identity: driver.Identity{UID: "uid"}}, nil)
		if got := meta.IsStatusConditionTrue(o.Conditions, vmv1alpha1.ConditionGuestCustomized); got != tc.want {
			t.Errorf("%s: GuestCustomized is reported: %v, want %v", name, got, tc.want)
		}
	}
}
