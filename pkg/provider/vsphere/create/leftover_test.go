// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestIsCreatedBy_OnlyForVMsOfTheAttempt(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		change func(*mo.VirtualMachine)
		want   bool
	}{
		"a VM of this attempt":      {func(*mo.VirtualMachine) {}, true},
		"vCenter's clock is behind": {func(vm *mo.VirtualMachine) { vm.Config.CreateDate = new(began.Add(-time.Minute)) }, true},
		"without a date":            {func(vm *mo.VirtualMachine) { vm.Config.CreateDate = nil }, true},
		"a VM of another attempt": {func(vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: observe.PendingKey, Value: "another"}}
		}, false},
		"complete": {func(vm *mo.VirtualMachine) { vm.Config.ExtraConfig = nil }, false},
		"older":    {func(vm *mo.VirtualMachine) { vm.Config.CreateDate = new(began.Add(-time.Hour)) }, false},
		"running":  {func(vm *mo.VirtualMachine) { vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn }, false},
		"booted":   {func(vm *mo.VirtualMachine) { vm.Runtime.BootTime = &began }, false},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{
				CreateDate:  new(began.Add(time.Second)),
				ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.PendingKey, Value: "attempt"}},
			}}
			vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
			tc.change(vm)
			if got := isCreatedBy(vm, "attempt", began); got != tc.want {
				t.Errorf("created by the attempt = %v, want %v", got, tc.want)
			}
			if isCreatedBy(vm, "", began) {
				t.Error("a VM counts as created by an attempt without a mark")
			}
		})
	}
}

func TestForeignDisk_IgnoresDisksOfAnAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"nothing":                              {nil, ""},
		"a copy":                               {[]string{"disk-0.vmdk", "disk-0-flat.vmdk", "disk-12.vmdk", "web.nvram"}, ""},
		"a disk that depends on another":       {[]string{"disk-0.vmdk", "disk-0-sesparse.vmdk", "disk-0-000001.vmdk", "vmware.log"}, ""},
		"a disk of a volume that was detached": {[]string{"disk-0.vmdk", "web_1.vmdk", "web_1-flat.vmdk"}, "web_1.vmdk"},
		"a disk of a VM named disk-0":          {[]string{"disk-0_1.vmdk"}, "disk-0_1.vmdk"},
		"a disk in a subdirectory":             {[]string{"more/data.vmdk"}, "data.vmdk"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []types.BaseFileInfo
			for _, f := range tc.files {
				files = append(files, &types.FileInfo{Path: f})
			}
			if got := foreignDisk(files); got != tc.want {
				t.Errorf("foreign disk %q, want %q", got, tc.want)
			}
		})
	}
}
