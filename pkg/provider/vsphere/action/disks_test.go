// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	stdcmp "cmp"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func flat(files ...string) *types.VirtualDiskFlatVer2BackingInfo {
	b := &types.VirtualDiskFlatVer2BackingInfo{Uuid: "6000C290-1"}
	b.FileName = files[0]
	if len(files) > 1 {
		b.Parent = flat(files[1:]...)
	}
	return b
}

func disk(unit int32, backing types.BaseVirtualDeviceBackingInfo) *types.VirtualDisk {
	d := &types.VirtualDisk{}
	d.Key, d.ControllerKey, d.UnitNumber, d.Backing = 2000+unit, 1000, &unit, backing
	return d
}

func multiWriter(file string) types.BaseVirtualDeviceBackingInfo {
	b := flat(file)
	b.Sharing = string(types.VirtualDiskSharingSharingMultiWriter)
	return b
}

func TestForeignDisks_ReturnsDisksThatTheVMDoesNotOwn(t *testing.T) {
	fcd := disk(1, flat("[ds] web/pvc.vmdk"))
	fcd.VDiskId = &types.ID{Id: "fcd-1"}
	raw := &types.VirtualDiskRawDiskMappingVer1BackingInfo{}
	raw.FileName, raw.Sharing = "[ds] web/lun.vmdk", "sharingMultiWriter"
	const refused, own, other = "refused", "6000c290-1", "6000c290-2"
	for _, tc := range []struct {
		name string
		vmx  string
		disk *types.VirtualDisk
		// recorded is the UUID that is recorded for the slot, or empty.
		recorded  string
		snapshots bool
		// want is the detached disk, "refused", or empty if no disk is detached.
		want string
	}{
		{name: "in the VM's directory", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/web_1.vmdk"))},
		{name: "in a subdirectory of the VM's directory", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/more/web_1.vmdk"))},
		{name: "a disk of another VM", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] db/db.vmdk")), want: "[ds] db/db.vmdk"},
		{name: "a disk of a VM whose name has the same prefix", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web-2/web.vmdk")), want: "[ds] web-2/web.vmdk"},
		{name: "on another datastore", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds2] web/web.vmdk")), want: "[ds2] web/web.vmdk"},
		{name: "on another datastore, recorded", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds2] web/web.vmdk")), recorded: own},
		{name: "on another datastore, recorded before its UUID was known", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds2] web/web.vmdk")), recorded: observe.DiskCreated, want: "[ds2] web/web.vmdk"},
		{name: "in the VM's directory, recorded before its UUID was known", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/web_1.vmdk")), recorded: observe.DiskCreated},
		{name: "of another VM, in the slot of one of the VM's own disks", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] db/db.vmdk")), recorded: other, want: "[ds] db/db.vmdk"},
		{name: "in the VM's directory, in the slot of another disk", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/web_1.vmdk")), recorded: other, want: "[ds] web/web_1.vmdk"},
		{name: "in the VM's directory, attached to another VM too", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/lent.vmdk")), want: "[ds] web/lent.vmdk"},
		{name: "in the directory of another VM with the same name, recorded", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds3] web/web_1.vmdk")), recorded: own},
		{name: "moved without its VM, with snapshots", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds2] web/web-000001.vmdk", "[ds2] web/web.vmdk")), recorded: own, snapshots: true},
		{name: "a child of the disk of another VM that is recorded, with snapshots", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/db-000001.vmdk", "[ds] db/db.vmdk")), recorded: own, snapshots: true, want: refused},
		{name: "of another VM, with snapshots of its own", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] db/db-000001.vmdk", "[ds] db/db.vmdk")), want: "[ds] db/db-000001.vmdk"},
		{name: "a first class disk", vmx: "[ds] web/web.vmx", disk: fcd, want: "[ds] web/pvc.vmdk"},
		{name: "a first class disk with the recorded UUID", vmx: "[ds] web/web.vmx", disk: fcd, recorded: own, want: "[ds] web/pvc.vmdk"},
		{name: "written to by several VMs", vmx: "[ds] web/web.vmx", disk: disk(1, multiWriter("[ds] web/quorum.vmdk")), want: "[ds] web/quorum.vmdk"},
		{name: "written to by several VMs, with the recorded UUID", vmx: "[ds] web/web.vmx", disk: disk(1, multiWriter("[ds] web/quorum.vmdk")), recorded: own, want: "[ds] web/quorum.vmdk"},
		{name: "a raw device that several VMs write to", vmx: "[ds] web/web.vmx", disk: disk(1, raw), want: "[ds] web/lun.vmdk"},
		{name: "a sparse disk of another VM", vmx: "[ds] web/web.vmx", disk: disk(1, &types.VirtualDiskSeSparseBackingInfo{
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[ds] db/db.vmdk"}}), want: "[ds] db/db.vmdk"},
		{name: "a linked clone", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/web.vmdk", "[ds] golden/golden.vmdk"))},
		{name: "a VM at the root of its datastore", vmx: "[ds] web.vmx", disk: disk(1, flat("[ds] db/db.vmdk")), want: "[ds] db/db.vmdk"},
		{name: "a VM at the root of its datastore with its disk", vmx: "[ds] web.vmx", disk: disk(1, flat("[ds] web.vmdk"))},
		{name: "a disk without a file name", vmx: "[ds] web/web.vmx", disk: disk(1, flat("")), want: "without a name"},
		{name: "with snapshots, only the VM's own disks", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/web-000001.vmdk", "[ds] web/web.vmdk")), snapshots: true},
		{name: "with snapshots, and a disk of another VM", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] db/db.vmdk")), snapshots: true, want: refused},
		{name: "a snapshot that was taken with a disk of another VM", vmx: "[ds] web/web.vmx", disk: disk(1, flat("[ds] web/db-000001.vmdk", "[ds] db/db.vmdk")), snapshots: true, want: refused},
		{name: "without the VM's directory", disk: disk(1, flat("[ds] web/web.vmdk")), want: refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &mo.VirtualMachine{}
			vm.Config = &types.VirtualMachineConfigInfo{Files: types.VirtualMachineFileInfo{VmPathName: tc.vmx}}
			controller := &types.ParaVirtualSCSIController{}
			controller.Key = 1000
			vm.Config.Hardware.Device = []types.BaseVirtualDevice{controller, tc.disk}
			vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: observe.DiskKey("scsi0:1"), Value: tc.recorded}}
			if tc.snapshots {
				vm.RootSnapshot = []types.ManagedObjectReference{{Type: "VirtualMachineSnapshot", Value: "snapshot-1"}}
			}
			others := []*mo.VirtualMachine{vm}
			for i, vmx := range []string{"", "[ds] db/db.vmx", "[ds3] web/web.vmx"} {
				other := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{Files: types.VirtualMachineFileInfo{VmPathName: vmx}}}
				other.Self.Value = fmt.Sprint("vm-", i)
				other.Config.Hardware.Device = []types.BaseVirtualDevice{disk(0, flat("[ds] web/lent.vmdk"))}
				others = append(others, other)
			}
			found, err := foreignDisks(vm, others)
			got := ""
			switch {
			case err != nil:
				got = refused
			case len(found) > 0:
				got = stdcmp.Or(found[0].name, "without a name")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("detached (-want +got):\n%s(%v)", diff, err)
			}
		})
	}
}

func TestForeignDisks_FailsWithoutAConfiguration(t *testing.T) {
	if disks, err := foreignDisks(&mo.VirtualMachine{}, nil); err == nil {
		t.Errorf("disks = %v, want an error", disks)
	}
}
