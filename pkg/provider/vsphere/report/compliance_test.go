// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestAddCompliance_ReportsOnlyObjectsWithAPolicy(t *testing.T) {
	vm := observed(func(vm *mo.VirtualMachine) {
		scsi, disk := &types.ParaVirtualSCSIController{}, &types.VirtualDisk{CapacityInBytes: 16 << 30}
		scsi.Key, disk.Key, disk.ControllerKey, disk.UnitNumber = 1000, 2000, 1000, new(int32)
		disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{}
		vm.Config.Hardware.Device = []types.BaseVirtualDevice{scsi, disk}
	})
	record := func(key string) {
		vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: "profile"})
	}
	check := func(what, want string, status map[string]string) {
		t.Helper()
		o := observationOf(vm)
		AddCompliance(&o, vm, status)
		got := "absent"
		if c := meta.FindStatusCondition(o.Conditions, vmv1alpha1.ConditionStorageCompliant); c != nil {
			got = string(c.Status) + "/" + c.Reason + " " + c.Message
		}
		if got != want {
			t.Errorf("%s: StorageCompliant is %q, want %q", what, got, want)
		}
	}
	check("nothing has a policy", "absent", map[string]string{"vm-42": "nonCompliant"})
	record(observe.HomePolicyKey)
	check("not queried yet", "Unknown/UnknownState vSphere has not yet reported the compliance of the virtual machine itself", nil)
	check("the home complies", "True/Succeeded ", map[string]string{"vm-42": "compliant", "vm-42:2000": "nonCompliant"})
	record(observe.BootDiskPolicyKey)
	check("the disk must also comply", "False/NonCompliant storage policy compliance: bootDisk is outOfDate", map[string]string{"vm-42": "notApplicable", "vm-42:2000": "outOfDate"})
}
