// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// describe returns the image status for a descriptor. system is the virtual machine with all its devices, config
// the configuration converted from it.
func describe(envelope *ovf.Envelope, system *ovf.VirtualSystem, config *types.VirtualMachineConfigSpec) provider.ImageDescription {
	d := description{}
	d.Type = vmv1alpha1.ImageTypeOVF
	d.config(config.GuestId, config.Version, config.Firmware, config.BootOptions)
	if envelope.Network != nil {
		for _, n := range envelope.Network.Networks {
			d.network(n.Name)
		}
	}
	if v := config.VAppConfig; v != nil {
		for _, p := range v.GetVmConfigSpec().Property {
			if p.Info != nil {
				d.property(p.Info)
			}
		}
	}
	if len(system.VirtualHardware) > 0 {
		for i := range system.VirtualHardware[0].Item {
			d.ovfDisk(envelope, &system.VirtualHardware[0].Item[i])
		}
	}
	return d.result()
}

// ovfDisk adds a hardware item if it is a disk.
func (d *description) ovfDisk(envelope *ovf.Envelope, item *ovf.ResourceAllocationSettingData) {
	if item.ResourceType == nil || *item.ResourceType != ovf.DiskDrive || envelope.Disk == nil {
		return
	}
	var capacity int64
	for _, host := range item.HostResource {
		// The form is ovf:/disk/vmdisk1 (DSP0243 8.3).
		id := host[strings.LastIndex(host, "/")+1:]
		if i := slices.IndexFunc(envelope.Disk.Disks, func(v ovf.VirtualDiskDesc) bool { return v.DiskID == id }); i >= 0 {
			capacity = d.capacity(&envelope.Disk.Disks[i])
		}
	}
	d.disk(item.ElementName, capacity)
}

// capacity returns a disk's capacity in bytes. It returns 0 if the capacity is chosen at deployment or invalid. A
// capacity that refers to a property (DSP0243 9.1) is the property's default.
func (d *description) capacity(disk *ovf.VirtualDiskDesc) int64 {
	text := strings.TrimSpace(disk.Capacity)
	if name, ok := strings.CutPrefix(text, "${"); ok {
		name = strings.TrimSuffix(name, "}")
		text = ""
		if i := slices.IndexFunc(d.Properties, func(p vmv1alpha1.VirtualMachineImageProperty) bool { return p.Key == name }); i >= 0 {
			text = d.Properties[i].Default
		}
	}
	units := int64(1)
	if disk.CapacityAllocationUnits != nil {
		units = ovf.ParseCapacityAllocationUnits(*disk.CapacityAllocationUnits)
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count <= 0 || units <= 0 || count > maxCapacity/units {
		return 0
	}
	return count * units
}
