// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestPromotion_IsPendingForDisksWithForeignParents(t *testing.T) {
	with := func(backing types.BaseVirtualDeviceBackingInfo) *mo.VirtualMachine {
		disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: backing}}
		return &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{
			Files:    types.VirtualMachineFileInfo{VmPathName: "[ds] web/web.vmx", SnapshotDirectory: "[snaps] web/"},
			Hardware: types.VirtualHardware{Device: []types.BaseVirtualDevice{&types.VirtualCdrom{}, disk}},
		}}
	}
	flat := func(files ...string) (b *types.VirtualDiskFlatVer2BackingInfo) {
		for _, f := range slices.Backward(files) {
			b = &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: f}, Parent: b}
		}
		return b
	}
	sparse := &types.VirtualDiskSeSparseBackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[ds] web/disk.vmdk"},
		Parent:                       &types.VirtualDiskSeSparseBackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[ds] golden/disk.vmdk"}},
	}
	linked := with(flat("[ds] web/disk.vmdk", "[ds] golden/disk.vmdk"))
	const online, disabled = vmv1alpha1.PromoteDisksModeOnline, vmv1alpha1.PromoteDisksModeDisabled
	for name, test := range map[string]struct {
		mode vmv1alpha1.PromoteDisksMode
		vm   *mo.VirtualMachine
		want string
	}{
		"whole disks":                    {"", with(flat("[ds] web/disk.vmdk")), "True/Succeeded"},
		"linked flat disk":               {"", linked, "False/Pending"},
		"linked sparse disk":             {online, with(sparse), "False/Pending"},
		"a snapshot":                     {"", with(flat("[ds] web/disk-000001.vmdk", "[ds] web/disk.vmdk")), "True/Succeeded"},
		"a snapshot on another store":    {"", with(flat("[snaps] web/disk-000001.vmdk", "[ds] web/disk.vmdk")), "True/Succeeded"},
		"a snapshot of a disk elsewhere": {"", with(flat("[big] web_1/data-000001.vmdk", "[big] web_1/data.vmdk")), "True/Succeeded"},
		"a snapshot of a linked disk":    {"", with(flat("[ds] web/disk-000001.vmdk", "[ds] web/disk.vmdk", "[ds] golden/disk.vmdk")), "False/Pending"},
		"promotion disabled":             {disabled, linked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &driver.Desired{NoPromotion: test.mode == disabled}
			st := &vmv1alpha1.VirtualMachineStatus{Conditions: []metav1.Condition{
				{Type: vmv1alpha1.ConditionDiskPromotionSynced, Status: metav1.ConditionFalse, Reason: "Before"},
			}}
			test.vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
			test.vm.Config.ChangeVersion, test.vm.Config.InstanceUuid = "1", "uid"
			o := Observe(test.vm, w, nil)
			(&provider.Result{Conditions: o.Conditions, RemovedConditions: o.RemovedConditions}).Apply(st, 1, time.Time{})
			got := ""
			if c := meta.FindStatusCondition(st.Conditions, vmv1alpha1.ConditionDiskPromotionSynced); c != nil {
				got = string(c.Status) + "/" + c.Reason
			}
			if got != test.want {
				t.Errorf("DiskPromotionSynced is %q, want %q", got, test.want)
			}
		})
	}
}
