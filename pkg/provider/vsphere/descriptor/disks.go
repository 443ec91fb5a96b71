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

// Reference refers to a file of a descriptor.
type Reference struct {
	// FileID is the file's ID in the descriptor, File its name. Both are empty if there is no file.
	FileID, File string
}

// Disk is a virtual disk of a descriptor.
type Disk struct {
	// Device has a temporary key and no file.
	Device *types.VirtualDisk
	// Reference refers to the disk's content. It is empty for an empty disk.
	Reference
}

// Hardware contains a descriptor's disks and their controllers. A deployment always uses them, also if it has its
// own configuration.
type Hardware struct {
	// Controllers have temporary keys.
	Controllers []types.BaseVirtualDevice
	// Disks are in the order of the descriptor.
	Disks []Disk
	// NVRAM refers to the firmware's variables, such as the boot entries. It is empty if a new virtual machine gets
	// default variables.
	NVRAM Reference
	// Err is set if the disks cannot be used.
	Err error
}

// storageTypes are the resource types of hardware items that readHardware reads.
var storageTypes = []ovf.CIMResourceType{ovf.IdeController, ovf.ParallelScsiHba, ovf.OtherStorage, ovf.DiskDrive}

// readHardware reads a virtual machine's disks and their controllers.
func readHardware(envelope *ovf.Envelope, system *ovf.VirtualSystem) Hardware {
	vm := *system
	vm.VirtualHardware = slices.Clone(system.VirtualHardware)
	for i := range vm.VirtualHardware {
		vm.VirtualHardware[i].Item = slices.DeleteFunc(slices.Clone(vm.VirtualHardware[i].Item), func(item ovf.ResourceAllocationSettingData) bool {
			return item.ResourceType == nil || !slices.Contains(storageTypes, *item.ResourceType)
		})
	}
	only := *envelope
	if only.Disk == nil {
		only.Disk = &ovf.DiskSection{} // govmomi requires a disk section.
	}
	only.VirtualSystem, only.VirtualSystemCollection = &vm, nil
	spec, err := toConfigSpec(&only)
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
	if out.NVRAM, err = nvramOf(envelope, spec.ExtraConfig); err != nil {
		return Hardware{Err: err}
	}
	for _, d := range out.Disks {
		if key, ok := ide[d.Device.ControllerKey]; ok {
			d.Device.ControllerKey = key
		}
	}
	return out
}

// firstIDE is the key of the first of the two IDE controllers that every virtual machine has. This is an assumption
// from observed VMs.
const firstIDE = 200

// diskOf returns a disk with the file of its backing.
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

// NVRAMKey is the extraConfig key of the file with the firmware's variables.
const NVRAMKey = "nvram"

// nvramOf returns the NVRAM file that a descriptor refers to with ovf:/file/ID. A name without that prefix is the
// file name in the exported virtual machine, and the file is not included. govmomi's test descriptors from vSphere
// contain both kinds.
func nvramOf(envelope *ovf.Envelope, options []types.BaseOptionValue) (Reference, error) {
	at := slices.IndexFunc(options, isNVRAM)
	if at < 0 {
		return Reference{}, nil
	}
	id, included := strings.CutPrefix(fmt.Sprint(options[at].GetOptionValue().Value), "ovf:/file/")
	if !included {
		return Reference{}, nil
	}
	for _, f := range envelope.References {
		if f.ID == id {
			return Reference{FileID: id, File: path.Base(f.Href)}, nil
		}
	}
	return Reference{}, &UnusableError{Message: fmt.Sprintf("the OVF descriptor cannot be used: its NVRAM file %q is missing in its references", id)}
}

func isNVRAM(o types.BaseOptionValue) bool {
	return strings.EqualFold(o.GetOptionValue().Key, NVRAMKey)
}

// CheckCopyable returns why virtual machines of the image cannot be created from copies of its files. It returns nil
// if they can.
func (i *Image) CheckCopyable() error {
	if i.Hardware.Err == nil && len(i.Hardware.Disks) == 0 {
		return &UnusableError{Message: "the image has no disks"}
	}
	return i.Hardware.Err
}

// References returns the files that are needed to create a virtual machine.
func (h *Hardware) References() (all []Reference) {
	for i := range h.Disks {
		all = append(all, h.Disks[i].Reference)
	}
	return slices.DeleteFunc(append(all, h.NVRAM), func(r Reference) bool { return r.File == "" })
}

// CachedPath returns the datastore path of the file's copy.
func (r Reference) CachedPath(files map[string]string) (string, error) {
	for _, id := range []string{r.FileID, r.File} {
		if p := files[id]; p != "" && id != "" {
			return p, nil
		}
	}
	return "", fmt.Errorf("the image has no copy of file %q", r.File)
}
