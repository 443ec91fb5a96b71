// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"
	"reflect"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
)

// apart keeps the temporary keys of an image's devices away from those of others.
const apart = 100_000

// storageOf are the disks of the image in the directory dir, and their controllers, as
// additions, and the copies that have to be made before.
func storageOf(hw *descriptor.Hardware, fast *Fast, dir string) (changes []*types.VirtualDeviceConfigSpec, copies []datastore.Transfer, err error) {
	if hw.Err != nil {
		return nil, nil, hw.Err
	}
	for _, c := range hw.Controllers {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: controllerOf(c)})
	}
	for i := range hw.Disks {
		file := fmt.Sprintf("%s/disk-%d.vmdk", dir, i)
		backing := &types.VirtualDiskFlatVer2BackingInfo{
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file},
			DiskMode:                     string(types.VirtualDiskModePersistent), ThinProvisioned: types.NewBool(true),
		}
		change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: diskOf(hw.Disks[i].Device, backing)}
		changes = append(changes, change)
		if hw.Disks[i].File == "" {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			continue
		}
		from, err := hw.Disks[i].Cached(fast.Files)
		switch {
		case err != nil:
			return nil, nil, err
		case fast.Linked:
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			backing.Parent = &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: from}, DiskMode: string(types.VirtualDiskModePersistent)}
		default:
			backing.ThinProvisioned = nil // It says how files are made, and this one is there.
			copies = append(copies, datastore.Transfer{From: from, To: file, Disk: true, Size: hw.Disks[i].Device.CapacityInBytes})
		}
	}
	return changes, copies, nil
}

// controllerOf copies a controller of the image, which others read.
func controllerOf(device types.BaseVirtualDevice) types.BaseVirtualDevice {
	fresh := reflect.New(reflect.TypeOf(device).Elem())
	fresh.Elem().Set(reflect.ValueOf(device).Elem())
	out := fresh.Interface().(types.BaseVirtualDevice)
	if c, ok := out.(types.BaseVirtualController); ok {
		c.GetVirtualController().Device = nil // Its disks say where they are.
	}
	setApart(out.GetVirtualDevice())
	return out
}

// diskOf copies a disk of the image, which others read, and gives it a backing.
func diskOf(disk *types.VirtualDisk, backing *types.VirtualDiskFlatVer2BackingInfo) *types.VirtualDisk {
	out := *disk
	out.Backing, out.CapacityInKB = backing, out.CapacityInBytes>>10
	setApart(&out.VirtualDevice)
	return &out
}

func setApart(d *types.VirtualDevice) {
	if d.Key < 0 {
		d.Key -= apart
	}
	if d.ControllerKey < 0 {
		d.ControllerKey -= apart
	}
}
