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

// imageKeyOffset separates the temporary keys of an image's devices from the keys of other devices.
const imageKeyOffset = 100_000

// imageStorage returns the device changes that add the image's disks, in the directory dir, and their controllers.
// It also returns the file copies that must be made first.
func imageStorage(hw *descriptor.Hardware, fast *CachedImage, dir string) (changes []*types.VirtualDeviceConfigSpec, copies []datastore.Transfer, err error) {
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
		from, err := hw.Disks[i].CachedPath(fast.Files)
		switch {
		case err != nil:
			return nil, nil, err
		case fast.Linked:
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			backing.Parent = &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: from}, DiskMode: string(types.VirtualDiskModePersistent)}
		default:
			backing.ThinProvisioned = nil // The field applies only to new files; this file already exists.
			copies = append(copies, datastore.Transfer{From: from, To: file, Disk: true, Size: hw.Disks[i].Device.CapacityInBytes})
		}
	}
	return changes, copies, nil
}

// controllerOf copies a controller of the image, because the image is shared.
func controllerOf(device types.BaseVirtualDevice) types.BaseVirtualDevice {
	fresh := reflect.New(reflect.TypeOf(device).Elem())
	fresh.Elem().Set(reflect.ValueOf(device).Elem())
	out := fresh.Interface().(types.BaseVirtualDevice)
	if c, ok := out.(types.BaseVirtualController); ok {
		c.GetVirtualController().Device = nil // Each disk names its controller.
	}
	offsetKeys(out.GetVirtualDevice())
	return out
}

// diskOf copies a disk of the image, because the image is shared, and sets its backing.
func diskOf(disk *types.VirtualDisk, backing *types.VirtualDiskFlatVer2BackingInfo) *types.VirtualDisk {
	out := *disk
	out.Backing, out.CapacityInKB = backing, out.CapacityInBytes>>10
	offsetKeys(&out.VirtualDevice)
	return &out
}

func offsetKeys(d *types.VirtualDevice) {
	if d.Key < 0 {
		d.Key -= imageKeyOffset
	}
	if d.ControllerKey < 0 {
		d.ControllerKey -= imageKeyOffset
	}
}
