// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestVolumes_ReportTheirDisks(t *testing.T) {
	vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{InstanceUuid: "uid", ChangeVersion: "1"}}
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	scsi, disk := &types.ParaVirtualSCSIController{}, &types.VirtualDisk{CapacityInBytes: 2 << 30}
	scsi.Key, disk.ControllerKey, disk.UnitNumber = 1000, 1000, new(int32(1))
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{Uuid: "u"}
	vm.Config.Hardware.Device = []types.BaseVirtualDevice{scsi, disk}
	for volume, slot := range map[string]string{"data": "scsi0:1", "taken": "scsi0:2"} {
		vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: observe.VolumeKey(volume), Value: slot})
	}
	empty := &vmv1alpha1.DiskVolumeSource{Capacity: new(resource.MustParse("2Gi"))}
	w := &driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Volumes: []vmv1alpha1.VirtualMachineVolume{
		{Name: "taken", Disk: empty}, {Name: "claim", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}, {Name: "new", Disk: empty},
	}}}}
	want := []vmv1alpha1.VirtualMachineVolumeStatus{
		{Name: "taken", Error: "the disk was removed in vSphere"},
		{Name: "claim", ClaimName: "c"},
		{Name: "new"},
		{Name: "data", Attached: true, DiskUUID: "u", Capacity: new(resource.MustParse("2Gi"))},
	}
	if diff := cmp.Diff(want, Observe(vm, w, nil).Volumes); diff != "" {
		t.Errorf("status.volumes (-want +got):\n%s", diff)
	}
}
