// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// disks describes the disks that the object can own: the disk that the VM boots from as bootDisk, the others as
// volumes with their controller and unit. Disks that other VMs may use stay attached, but do not belong to the
// object and are not deleted with it.
func (c *Candidate) disks(spec *vmv1alpha1.VirtualMachineSpec) {
	var own []*types.VirtualDisk
	foreign := 0
	for _, d := range c.VM.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		if why := c.notOwn(disk); why != "" {
			c.note("disk %s stays attached and is not in the manifest: %s", label(observe.SlotOf(c.VM, disk)), why)
			if observe.FirstClassID(disk) == "" {
				foreign++
			}
			continue
		}
		own = append(own, disk)
	}
	slices.SortFunc(own, func(a, b *types.VirtualDisk) int { return int(a.Key - b.Key) })
	if len(observe.LinkedDisks(c.VM)) > 0 {
		spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
		c.note("disks depend on those of another VM and are not promoted: remove promoteDisksMode to promote them")
	}
	boot := c.bootDisk(own)
	switch {
	case boot == nil:
	case foreign == 0:
		spec.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: capacity(boot)}
	default:
		c.note("the boot disk cannot be identified and is not in the manifest")
	}
	for _, disk := range own {
		if disk == boot {
			continue
		}
		at := c.controller(disk)
		number, unit := at.Bus, *disk.UnitNumber
		spec.Volumes = append(spec.Volumes, vmv1alpha1.VirtualMachineVolume{
			Name: label(at.Slot(unit)), Bus: at.Kind, ControllerBusNumber: &number, UnitNumber: &unit,
			Disk: &vmv1alpha1.DiskVolumeSource{Capacity: capacity(disk)},
		})
	}
}

// notOwn returns why a disk is omitted, or an empty string.
func (c *Candidate) notOwn(disk *types.VirtualDisk) string {
	at := c.controller(disk)
	flat, plain := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	switch {
	case observe.FirstClassID(disk) != "":
		return "it is a first class disk"
	case observe.Shared(disk.Backing):
		return "several VMs write to it"
	case !plain:
		return "its type is " + strings.TrimSuffix(kind(disk.Backing), "BackingInfo")
	case disk.UnitNumber == nil || at.Kind == "" || at.Kind == "buslogic":
		return "volumes do not support its controller"
	case path.Dir(flat.FileName) != path.Dir(c.VM.Config.Files.VmPathName):
		return "its file " + flat.FileName + " is not in the directory of the VM"
	case observe.Capacity(disk)%limits.Mebibyte != 0:
		return "its size is not a multiple of 1 MiB"
	}
	return ""
}

// bootDisk returns the disk in the boot order, or the first one. own is sorted.
func (c *Candidate) bootDisk(own []*types.VirtualDisk) *types.VirtualDisk {
	if len(own) == 0 {
		return nil
	}
	if o := c.VM.Config.BootOptions; o != nil {
		for _, b := range o.BootOrder {
			disk, ok := b.(*types.VirtualMachineBootOptionsBootableDiskDevice)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(own, func(d *types.VirtualDisk) bool { return d.Key == disk.DeviceKey }); i >= 0 {
				return own[i]
			}
		}
	}
	return own[0]
}

func (c *Candidate) controller(disk *types.VirtualDisk) observe.Controller {
	for _, at := range observe.Controllers(c.VM) {
		if at.Key == disk.ControllerKey {
			return at
		}
	}
	return observe.Controller{}
}

func capacity(disk *types.VirtualDisk) *resource.Quantity {
	return resource.NewQuantity(observe.Capacity(disk), resource.BinarySI)
}
