// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestDisksArePromotedUnlessOneHasAParent(t *testing.T) {
	with := func(backing types.BaseVirtualDeviceBackingInfo) *mo.VirtualMachine {
		disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: backing}}
		return &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{Hardware: types.VirtualHardware{Device: []types.BaseVirtualDevice{&types.VirtualCdrom{}, disk}}}}
	}
	whole := with(&types.VirtualDiskFlatVer2BackingInfo{})
	flat := with(&types.VirtualDiskFlatVer2BackingInfo{Parent: &types.VirtualDiskFlatVer2BackingInfo{}})
	sparse := with(&types.VirtualDiskSeSparseBackingInfo{Parent: &types.VirtualDiskSeSparseBackingInfo{}})
	snapshot := with(&types.VirtualDiskFlatVer2BackingInfo{Parent: &types.VirtualDiskFlatVer2BackingInfo{}})
	snapshot.Snapshot = &types.VirtualMachineSnapshotInfo{}
	tests := map[string]struct {
		mode vmv1alpha1.PromoteDisksMode
		vm   *mo.VirtualMachine
		want string
	}{
		"whole disks":             {"", whole, "True/Succeeded"},
		"linked flat disk":        {"", flat, "False/NotReady"},
		"linked sparse disk":      {vmv1alpha1.PromoteDisksModeOnline, sparse, "False/NotReady"},
		"disks under a snapshot":  {"", snapshot, "True/Succeeded"},
		"configuration not known": {"", &mo.VirtualMachine{}, "True/Succeeded"},
		"never to be promoted":    {vmv1alpha1.PromoteDisksModeDisabled, flat, "False/Disabled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := &Input{VM: &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{PromoteDisksMode: test.mode}}, Observed: test.vm}
			st := &vmv1alpha1.VirtualMachineStatus{}
			promotion(in, st)
			c := meta.FindStatusCondition(st.Conditions, vmv1alpha1.ConditionDiskPromotionSynced)
			if got := string(c.Status) + "/" + c.Reason; got != test.want {
				t.Errorf("DiskPromotionSynced is %s, want %s", got, test.want)
			}
		})
	}
}
