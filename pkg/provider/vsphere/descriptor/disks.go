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

// Reference is to a file that a descriptor brings along.
type Reference struct {
	// FileID is the ID of the file in the descriptor, and File its name; empty for none.
	FileID, File string
}

// Disk is a virtual disk of a descriptor.
type Disk struct {
	// Device has a temporary key and no file.
	Device *types.VirtualDisk
	// Reference to its content; none of an empty disk.
	Reference
}

// Hardware are the disks of a descriptor and the controllers that they hang on: what a
// deployment takes from the descriptor whatever configuration it has.
type Hardware struct {
	// Controllers have temporary keys.
	Controllers []types.BaseVirtualDevice
	// Disks in the order of the descriptor.
	Disks []Disk
	// NVRAM are the variables of the firmware, such as what it boots from; none if a new
	// virtual machine gets those of its firmware.
	NVRAM Reference
	// Err is why these cannot be told, nil if they can.
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

// NVRAMKey is the key of extraConfig that names the file with the variables of the firmware.
const NVRAMKey = "nvram"

// nvramOf is the file that a descriptor names by ovf:/file/ID. A name without that prefix is
// one that the file had in the virtual machine that was exported, and that is not brought
// along (both kinds are among the descriptors of vSphere that govmomi has for its tests).
func nvramOf(envelope *ovf.Envelope, options []types.BaseOptionValue) (Reference, error) {
	at := slices.IndexFunc(options, isNVRAM)
	if at < 0 {
		return Reference{}, nil
	}
	id, brought := strings.CutPrefix(fmt.Sprint(options[at].GetOptionValue().Value), "ovf:/file/")
	if !brought {
		return Reference{}, nil
	}
	for _, f := range envelope.References {
		if f.ID == id {
			return Reference{FileID: id, File: path.Base(f.Href)}, nil
		}
	}
	return Reference{}, &UnusableError{Message: fmt.Sprintf("the OVF descriptor cannot be used: its NVRAM is file %q, which it does not have", id)}
}

func isNVRAM(o types.BaseOptionValue) bool {
	return strings.EqualFold(o.GetOptionValue().Key, NVRAMKey)
}

// NotCopyable is why virtual machines of the image cannot be made of copies of its files, nil
// if they can.
func (i *Image) NotCopyable() error {
	if i.Hardware.Err == nil && len(i.Hardware.Disks) == 0 {
		return &UnusableError{Message: "the image has no disks"}
	}
	return i.Hardware.Err
}

// References are the files of which a virtual machine is made.
func (h *Hardware) References() (all []Reference) {
	for i := range h.Disks {
		all = append(all, h.Disks[i].Reference)
	}
	return slices.DeleteFunc(append(all, h.NVRAM), func(r Reference) bool { return r.File == "" })
}

// Cached returns the copy of the file, as a datastore path.
func (r Reference) Cached(files map[string]string) (string, error) {
	for _, id := range []string{r.FileID, r.File} {
		if p := files[id]; p != "" && id != "" {
			return p, nil
		}
	}
	return "", fmt.Errorf("the image has no copy of file %q", r.File)
}
