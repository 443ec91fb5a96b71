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

// Keys of extraConfig with data about disks and drives that vSphere does not store. The reconfiguration that
// changes a disk or drive also writes its key.
const (
	// volumePrefix and a volume's name form the key of the slot of its disk, drivePrefix that of its CD-ROM drive.
	volumePrefix, drivePrefix = "slipway.volume.", "slipway.cdrom."
	// PolicyPrefix is the prefix of all storage policy keys.
	PolicyPrefix = "slipway.policy."
	// policyPrefix and a volume's name form the key of the profile of its storage policy, reclaimPrefix that of its
	// reclaim policy.
	policyPrefix, reclaimPrefix = "slipway.policy.volume.", "slipway.reclaim."
	// HomePolicyKey is the key of the storage policy profile of the VM's own files.
	HomePolicyKey = "slipway.policy.home"
	// BootDiskPolicyKey is the key of the boot disk's storage policy profile.
	BootDiskPolicyKey = "slipway.policy.bootDisk"
	// BootDiskKey is the key of the boot disk's slot.
	BootDiskKey = "slipway.bootDisk"
)

// VolumeKey returns the extraConfig key of the slot of a volume's disk.
func VolumeKey(volume string) string { return volumePrefix + volume }

// DriveKey returns the extraConfig key of the slot of a CD-ROM drive.
func DriveKey(volume string) string { return drivePrefix + volume }

// PolicyKey returns the extraConfig key of the profile of a volume's storage policy.
func PolicyKey(volume string) string { return policyPrefix + volume }

// ReclaimKey returns the extraConfig key of a volume's reclaim policy and its disk's UUID.
func ReclaimKey(volume string) string { return reclaimPrefix + volume }

// Controller is a disk controller of a VM.
type Controller struct {
	// Kind is pvscsi, lsilogic, lsilogicsas, buslogic, sata, nvme or ide.
	Kind string
	// Key is the device key.
	Key int32
	// Bus is the bus number, unique in the class.
	Bus int32
	// Units are the unit numbers in use.
	Units []int32
}

// Class returns scsi for the kinds that share the SCSI bus numbers, and Kind for others.
func (c Controller) Class() string {
	switch c.Kind {
	case "sata", "nvme", "ide":
		return c.Kind
	}
	return "scsi"
}

// Slot returns the slot of a unit: the controller and the unit number in the form of .vmx files, for example scsi0:1.
// It does not change when the disk moves to another datastore or the VM moves to another host.
func (c Controller) Slot(unit int32) string {
	return fmt.Sprintf("%s%d:%d", c.Class(), c.Bus, unit)
}

// Controllers returns the disk controllers in the order of class and bus.
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

// Volumes returns the volumes' disks by volume name. A disk is nil if it is recorded but does not exist.
func Volumes(vm *mo.VirtualMachine) map[string]*types.VirtualDisk {
	return recordedDevices[*types.VirtualDisk](vm, volumePrefix)
}

// Drives returns the volumes' CD-ROM drives by volume name. A drive is nil if it is recorded but does not exist.
func Drives(vm *mo.VirtualMachine) map[string]*types.VirtualCdrom {
	return recordedDevices[*types.VirtualCdrom](vm, drivePrefix)
}

// recordedDevices returns the devices whose slots are recorded with a key prefix.
func recordedDevices[T types.BaseVirtualDevice](vm *mo.VirtualMachine, prefix string) map[string]T {
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

// bySlot returns the devices on controllers by slot. It omits first class disks, and disks that are not the
// recorded disk of their slot: after a disk was removed in vSphere, another disk can be in its slot.
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

// SlotOf returns a device's slot. It returns an empty string if the device is not on a disk controller.
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

// BootDisk returns the disk that the image boots from: the recorded disk, or the only disk that is not a volume.
// For a new VM it is the first disk, as in the image. several is true if there are several candidates.
func BootDisk(vm *mo.VirtualMachine) (disk *types.VirtualDisk, several bool) {
	return BootDiskOf(vm, Volumes(vm))
}

// BootDiskOf is BootDisk for a VM with the given volumes' disks.
func BootDiskOf(vm *mo.VirtualMachine, volumes map[string]*types.VirtualDisk) (disk *types.VirtualDisk, several bool) {
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
	case len(all) > 1 && !IsPending(vm):
		return nil, true
	}
	return slices.MinFunc(all, func(a, b *types.VirtualDisk) int { return int(a.Key - b.Key) }), false
}

// Devices returns a description of each device by key: its type, and the files of a disk. The files change with
// snapshots.
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

// HasParent reports whether a disk has a parent: the disk belongs to a snapshot or is linked to another virtual
// machine's disk.
func HasParent(disk *types.VirtualDisk) bool { return len(DiskFiles(disk.Backing)) > 1 }

// Shared reports whether several VMs may write to the disk at the same time.
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

// Capacity returns a disk's capacity in bytes. Old servers report only kibibytes.
func Capacity(disk *types.VirtualDisk) int64 { return max(disk.CapacityInBytes, disk.CapacityInKB<<10) }

// DiskUUID returns the UUID that the guest sees. It returns an empty string for a backing without a UUID.
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

// DiskFiles returns the disk's own file and then those of its parents. The result has at least one entry.
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

// parentOf returns a backing's parent, or nil. Backing types that support a parent have a field Parent of their own
// type.
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
