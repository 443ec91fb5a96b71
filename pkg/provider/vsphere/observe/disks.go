// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// volumePrefix and the name of a volume are the key of extraConfig that holds
// the slot of its disk. Key and disk are written by one reconfiguration.
const volumePrefix = "slipway.volume."

// VolumeKey is the key of extraConfig that holds the slot of a volume.
func VolumeKey(volume string) string { return volumePrefix + volume }

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
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out map[string]*types.VirtualDisk
	var slots map[string]*types.VirtualDisk
	for _, o := range vm.Config.ExtraConfig {
		name, ok := strings.CutPrefix(o.GetOptionValue().Key, volumePrefix)
		slot, _ := o.GetOptionValue().Value.(string)
		if !ok || slot == "" {
			continue
		}
		if out == nil {
			out, slots = map[string]*types.VirtualDisk{}, disksBySlot(vm)
		}
		out[name] = slots[slot]
	}
	return out
}

func disksBySlot(vm *mo.VirtualMachine) map[string]*types.VirtualDisk {
	out := map[string]*types.VirtualDisk{}
	controllers := Controllers(vm)
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.UnitNumber == nil {
			continue
		}
		for _, c := range controllers {
			if c.Key == disk.ControllerKey {
				out[c.Slot(*disk.UnitNumber)] = disk
			}
		}
	}
	return out
}

// Capacity of a disk in bytes; old servers report kibibytes only.
func Capacity(disk *types.VirtualDisk) int64 { return max(disk.CapacityInBytes, disk.CapacityInKB<<10) }

// DiskUUID is the UUID that the guest sees, empty for a backing without one.
func DiskUUID(disk *types.VirtualDisk) string {
	switch b := disk.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskSeSparseBackingInfo:
		return b.Uuid
	}
	return ""
}

// DiskFiles are the files of a disk, its own first, then those of its parents. There is
// at least one name.
func DiskFiles(b types.BaseVirtualDeviceBackingInfo) []string {
	switch b := b.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		out := []string{b.FileName}
		for p := b.Parent; p != nil; p = p.Parent {
			out = append(out, p.FileName)
		}
		return out
	case *types.VirtualDiskSeSparseBackingInfo:
		out := []string{b.FileName}
		for p := b.Parent; p != nil; p = p.Parent {
			out = append(out, p.FileName)
		}
		return out
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		return []string{b.FileName}
	case types.BaseVirtualDeviceFileBackingInfo:
		return []string{b.GetVirtualDeviceFileBackingInfo().FileName}
	}
	return []string{fmt.Sprintf("a disk of %T", b)}
}
