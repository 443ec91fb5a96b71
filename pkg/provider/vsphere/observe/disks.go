// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Keys of extraConfig that say of disks and drives what vSphere does not. Each is written
// by the reconfiguration that changes what it is about.
const (
	// volumePrefix and the name of a volume are the key of the slot of its disk,
	// drivePrefix of that of its CD-ROM drive.
	volumePrefix, drivePrefix = "slipway.volume.", "slipway.cdrom."
	// PolicyPrefix begins the keys of all profiles.
	PolicyPrefix = "slipway.policy."
	// policyPrefix and the name of a volume are the key of the profile of its storage
	// policy, reclaimPrefix of what becomes of its disk.
	policyPrefix, reclaimPrefix = "slipway.policy.volume.", "slipway.reclaim."
	// HomePolicyKey holds the profile of the storage policy of the VM's own files.
	HomePolicyKey = "slipway.policy.home"
	// BootDiskPolicyKey holds that of the boot disk.
	BootDiskPolicyKey = "slipway.policy.bootDisk"
	// BootDiskKey holds the slot of the disk that the VM boots from.
	BootDiskKey = "slipway.bootDisk"
)

// VolumeKey is the key of extraConfig that holds the slot of a volume.
func VolumeKey(volume string) string { return volumePrefix + volume }

// DriveKey is the key of extraConfig that holds the slot of a CD-ROM drive.
func DriveKey(volume string) string { return drivePrefix + volume }

// PolicyKey is the key of extraConfig that holds the profile of the storage policy of a
// volume.
func PolicyKey(volume string) string { return policyPrefix + volume }

// ReclaimKey is the key of extraConfig that holds the reclaim policy of a volume, and the
// UUID of the disk that it is about.
func ReclaimKey(volume string) string { return reclaimPrefix + volume }

// Controller is a disk controller of a VM.
type Controller struct {
	// Kind is pvscsi, lsilogic, lsilogicsas, buslogic, sata, nvme or ide.
	Kind string
	// Key of the device.
	Key int32
	// Bus is the number among the controllers of the class.
	Bus int32
	// Units that are taken.
	Units []int32
}

// Class is scsi for the kinds that share the numbers of SCSI buses, else Kind.
func (c Controller) Class() string {
	switch c.Kind {
	case "sata", "nvme", "ide":
		return c.Kind
	}
	return "scsi"
}

// Slot names a disk as .vmx files do, for example scsi0:1. It stays when the
// disk moves to another datastore and when the VM moves to another host.
func (c Controller) Slot(unit int32) string {
	return fmt.Sprintf("%s%d:%d", c.Class(), c.Bus, unit)
}

// Controllers are the disk controllers in the order of class and bus.
func Controllers(vm *mo.VirtualMachine) []Controller {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out []Controller
	for _, d := range vm.Config.Hardware.Device {
		if c, ok := controllerOf(d); ok {
			out = append(out, c)
		}
	}
	for i := range out {
		for _, d := range vm.Config.Hardware.Device {
			if v := d.GetVirtualDevice(); v.ControllerKey == out[i].Key && v.UnitNumber != nil {
				out[i].Units = append(out[i].Units, *v.UnitNumber)
			}
		}
	}
	slices.SortFunc(out, func(a, b Controller) int {
		if c := strings.Compare(a.Class(), b.Class()); c != 0 {
			return c
		}
		return int(a.Bus - b.Bus)
	})
	return out
}

func controllerOf(d types.BaseVirtualDevice) (Controller, bool) {
	base, ok := d.(types.BaseVirtualController)
	if !ok {
		return Controller{}, false
	}
	c := Controller{Key: base.GetVirtualController().Key, Bus: base.GetVirtualController().BusNumber}
	switch d.(type) {
	case *types.ParaVirtualSCSIController:
		c.Kind = "pvscsi"
	case *types.VirtualLsiLogicSASController:
		c.Kind = "lsilogicsas"
	case *types.VirtualLsiLogicController:
		c.Kind = "lsilogic"
	case *types.VirtualBusLogicController:
		c.Kind = "buslogic"
	case *types.VirtualAHCIController:
		c.Kind = "sata"
	case *types.VirtualNVMEController:
		c.Kind = "nvme"
	case *types.VirtualIDEController:
		c.Kind = "ide"
	default:
		return Controller{}, false
	}
	return c, true
}

// Volumes are the disks of the volumes, by name. A volume that is recorded and
// whose disk is gone is nil.
func Volumes(vm *mo.VirtualMachine) map[string]*types.VirtualDisk {
	return recorded[*types.VirtualDisk](vm, volumePrefix)
}

// Drives are the CD-ROM drives of the volumes, by name. One that is recorded and is gone
// is nil.
func Drives(vm *mo.VirtualMachine) map[string]*types.VirtualCdrom {
	return recorded[*types.VirtualCdrom](vm, drivePrefix)
}

// recorded are the devices whose slots are recorded below a prefix.
func recorded[T types.BaseVirtualDevice](vm *mo.VirtualMachine, prefix string) map[string]T {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out map[string]T
	var slots map[string]types.BaseVirtualDevice
	for _, o := range vm.Config.ExtraConfig {
		name, ok := CutKey(o.GetOptionValue().Key, prefix)
		slot, _ := o.GetOptionValue().Value.(string)
		if !ok || slot == "" {
			continue
		}
		if out == nil {
			out, slots = map[string]T{}, bySlot(vm)
		}
		out[name], _ = slots[slot].(T)
	}
	return out
}

// bySlot returns the devices at controllers. First class disks are left out, and disks that
// are not the recorded one of their slot: the slot of a disk that was removed in vSphere can
// be taken by the disk of a claim or of another VM.
func bySlot(vm *mo.VirtualMachine) map[string]types.BaseVirtualDevice {
	out := map[string]types.BaseVirtualDevice{}
	controllers, recorded := Controllers(vm), DiskRecords(vm)
	for _, d := range vm.Config.Hardware.Device {
		slot := slotOf(controllers, d)
		if disk, ok := d.(*types.VirtualDisk); ok && (FirstClassID(disk) != "" || IsOther(recorded[slot], disk)) {
			continue
		}
		if slot != "" {
			out[slot] = d
		}
	}
	return out
}

// SlotOf names the place of a device, empty for one that is at no disk controller.
func SlotOf(vm *mo.VirtualMachine, device types.BaseVirtualDevice) string {
	return slotOf(Controllers(vm), device)
}

func slotOf(controllers []Controller, device types.BaseVirtualDevice) string {
	d := device.GetVirtualDevice()
	for _, c := range controllers {
		if d.UnitNumber != nil && c.Key == d.ControllerKey {
			return c.Slot(*d.UnitNumber)
		}
	}
	return ""
}

// BootDisk is the disk that the image boots from: the one that is recorded, or the only
// one that is no volume. While the VM is new it is the first, as in the image. several is
// true when it cannot be told.
func BootDisk(vm *mo.VirtualMachine) (disk *types.VirtualDisk, several bool) {
	return BootDiskBeside(vm, Volumes(vm))
}

// BootDiskBeside is BootDisk of a VM whose volumes are these.
func BootDiskBeside(vm *mo.VirtualMachine, volumes map[string]*types.VirtualDisk) (disk *types.VirtualDisk, several bool) {
	if vm == nil || vm.Config == nil {
		return nil, false
	}
	if slot := ExtraConfig(vm, BootDiskKey); slot != "" {
		disk, _ = bySlot(vm)[slot].(*types.VirtualDisk)
		return disk, false
	}
	var all []*types.VirtualDisk
	recorded := DiskRecords(vm)
	for _, d := range vm.Config.Hardware.Device {
		own, ok := d.(*types.VirtualDisk)
		if ok && own.VDiskId == nil && !IsOther(recorded[SlotOf(vm, own)], own) && !slices.Contains(slices.Collect(maps.Values(volumes)), own) {
			all = append(all, own)
		}
	}
	switch {
	case len(all) == 0:
		return nil, false
	case len(all) > 1 && !Pending(vm):
		return nil, true
	}
	return slices.MinFunc(all, func(a, b *types.VirtualDisk) int { return int(a.Key - b.Key) }), false
}

// Devices are the devices of the VM by key: the type of each, and the files of a disk, which
// change with its snapshots.
func Devices(vm *mo.VirtualMachine) map[int32]string {
	out := map[int32]string{}
	if vm == nil || vm.Config == nil {
		return out
	}
	for _, d := range vm.Config.Hardware.Device {
		text := fmt.Sprintf("%T", d)
		if disk, ok := d.(*types.VirtualDisk); ok {
			text += " " + strings.Join(DiskFiles(disk.Backing), " ")
		}
		out[d.GetVirtualDevice().Key] = text
	}
	return out
}

// HasParent is true for a disk that depends on another one: that of a snapshot, or of the
// virtual machine that it was cloned from.
func HasParent(disk *types.VirtualDisk) bool { return len(DiskFiles(disk.Backing)) > 1 }

// Shared is true for a disk that several VMs may write to at the same time.
func Shared(b types.BaseVirtualDeviceBackingInfo) bool {
	sharing := ""
	switch b := b.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		sharing = b.Sharing
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		sharing = b.Sharing
	case *types.VirtualDiskRawDiskVer2BackingInfo:
		sharing = b.Sharing
	}
	return sharing == string(types.VirtualDiskSharingSharingMultiWriter)
}

// Capacity of a disk in bytes; old servers report kibibytes only.
func Capacity(disk *types.VirtualDisk) int64 { return max(disk.CapacityInBytes, disk.CapacityInKB<<10) }

// DiskUUID returns the UUID that the guest sees, empty for a backing without one.
func DiskUUID(disk *types.VirtualDisk) string {
	switch b := disk.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskSparseVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskSeSparseBackingInfo:
		return b.Uuid
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		return b.Uuid
	case *types.VirtualDiskRawDiskVer2BackingInfo:
		return b.Uuid
	}
	return ""
}

// DiskFiles are the files of a disk, its own first, then those of its parents. There is
// at least one name.
func DiskFiles(b types.BaseVirtualDeviceBackingInfo) []string {
	var out []string
	for at := b; at != nil; at = parentOf(at) {
		if file, ok := at.(types.BaseVirtualDeviceFileBackingInfo); ok {
			out = append(out, file.GetVirtualDeviceFileBackingInfo().FileName)
		}
	}
	if len(out) == 0 {
		return []string{fmt.Sprintf("a disk of %T", b)}
	}
	return out
}

// parentOf is what a disk is made from, nil for nothing. Each backing that can have a parent
// has a field of that name, of its own type.
func parentOf(b types.BaseVirtualDeviceBackingInfo) types.BaseVirtualDeviceBackingInfo {
	v := reflect.Indirect(reflect.ValueOf(b))
	if v.Kind() != reflect.Struct {
		return nil
	}
	parent := v.FieldByName("Parent")
	if !parent.IsValid() || parent.IsNil() {
		return nil
	}
	above, _ := parent.Interface().(types.BaseVirtualDeviceBackingInfo)
	return above
}
