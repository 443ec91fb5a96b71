// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/types"
)

// Disk is a virtual disk of a descriptor.
type Disk struct {
	// Device has a temporary key and no file.
	Device *types.VirtualDisk
	// FileID is the ID of its file in the descriptor, and File the name of that; empty for
	// an empty disk.
	FileID, File string
}

// Hardware are the disks of a descriptor and the controllers that they hang on: what a
// deployment takes from the descriptor whatever configuration it has.
type Hardware struct {
	// Controllers have temporary keys.
	Controllers []types.BaseVirtualDevice
	// Disks in the order of the descriptor.
	Disks []Disk
	// Err is why they cannot be told, nil if they can.
	Err error
}

// storage are the items of the hardware that Hardware tells of.
var storage = []ovf.CIMResourceType{ovf.IdeController, ovf.ParallelScsiHba, ovf.OtherStorage, ovf.DiskDrive}

// readHardware reads the disks of a virtual machine with their controllers.
func readHardware(envelope *ovf.Envelope, system *ovf.VirtualSystem) Hardware {
	vm := *system
	vm.VirtualHardware = slices.Clone(system.VirtualHardware)
	for i := range vm.VirtualHardware {
		vm.VirtualHardware[i].Item = slices.DeleteFunc(slices.Clone(vm.VirtualHardware[i].Item), func(item ovf.ResourceAllocationSettingData) bool {
			return item.ResourceType == nil || !slices.Contains(storage, *item.ResourceType)
		})
	}
	only := *envelope
	if only.Disk == nil {
		only.Disk = &ovf.DiskSection{} // The library does not expect none.
	}
	only.VirtualSystem, only.VirtualSystemCollection = &vm, nil
	spec, err := only.ToConfigSpec()
	if err != nil {
		return Hardware{Err: &UnusableError{Message: "the disks of the OVF descriptor cannot be used: " + err.Error()}}
	}
	var out Hardware
	ide := map[int32]int32{}
	for _, c := range spec.DeviceChange {
		switch device := c.GetVirtualDeviceConfigSpec().Device.(type) {
		case *types.VirtualDisk:
			out.Disks = append(out.Disks, diskOf(envelope, device))
		case *types.VirtualIDEController:
			ide[device.Key] = firstIDE + device.BusNumber
		default:
			out.Controllers = append(out.Controllers, device)
		}
	}
	for _, d := range out.Disks {
		if key, ok := ide[d.Device.ControllerKey]; ok {
			d.Device.ControllerKey = key
		}
	}
	return out
}

// firstIDE is the key of the first of the two IDE controllers that every virtual machine
// has from the start (judgement: what vSphere and its clients show of every one).
const firstIDE = 200

// diskOf takes the file of a disk from its backing.
func diskOf(envelope *ovf.Envelope, device *types.VirtualDisk) Disk {
	disk := Disk{Device: device}
	if b, ok := device.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		disk.File = b.GetVirtualDeviceFileBackingInfo().FileName
	}
	device.Backing, device.DeviceInfo = nil, nil
	for _, f := range envelope.References {
		if disk.File != "" && path.Base(f.Href) == disk.File {
			disk.FileID = f.ID
		}
	}
	return disk
}

// Copyable is true of an image whose virtual machines are made of copies of its disks: one
// that brings the variables of its firmware along needs a deployment.
func (i *Image) Copyable() bool {
	return i.Hardware.Err == nil && len(i.Hardware.Disks) > 0 &&
		!slices.ContainsFunc(i.Config.ExtraConfig, func(o types.BaseOptionValue) bool { return strings.EqualFold(o.GetOptionValue().Key, "nvram") })
}

// Cached returns the copy of the file of a disk, as a datastore path.
func (d *Disk) Cached(files map[string]string) (string, error) {
	for _, id := range []string{d.FileID, d.File} {
		if p := files[id]; p != "" && id != "" {
			return p, nil
		}
	}
	return "", fmt.Errorf("the image has no copy of file %q", d.File)
}
