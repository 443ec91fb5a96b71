// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// adopted is true for a VM that the object has taken over, or is about to. It has a
// life of its own: the spec changes what it names, and nothing else.
func adopted(want Want, vm *mo.VirtualMachine) bool {
	if vm.Config == nil || want.New {
		return false
	}
	mark := observe.ExtraConfig(vm, observe.AdoptedKey)
	return observe.OwnershipOf(vm, want.Owner) == observe.Unowned || mark != "" && mark == want.Owner.UID
}

// leave keeps of an adopted VM's allocation what the spec does not name.
func (c *comparison) leave(want *allocation, have allocation, named [3]bool) {
	if !c.adopted {
		return
	}
	if !named[0] {
		want.reservation = have.reservation
	}
	if !named[1] {
		want.limit = have.limit
	}
	if !named[2] {
		want.shares = have.shares
	}
}

// listed is true for an interface that somebody has put into the spec: the one that
// every VM gets has nothing but its name.
func listed(n int, i *vmv1alpha1.VirtualMachineNetworkInterface) bool {
	return n > 0 || i.Network != "" || i.MACAddress != ""
}

// adoptedNetwork gives the adapters of an adopted VM the networks and addresses that
// the spec names, and adds those that it lists and the VM does not have. The others,
// and all models, stay.
func (c *comparison) adoptedNetwork(spec *vmv1alpha1.VirtualMachineNetworkSpec) {
	if spec.Disabled {
		return
	}
	have := observe.Assign(c.vm, spec.Interfaces, c.want.Adapters)
	for n := range spec.Interfaces {
		i, card := &spec.Interfaces[n], have.Cards[n]
		backing, known := c.want.Backings[i.Network]
		switch {
		case card != nil:
			if i.Network != "" && !known {
				return // Not resolved yet.
			}
			want := like(card)
			if i.Network != "" {
				want.GetVirtualEthernetCard().Backing = backing
			}
			if i.MACAddress != "" {
				want.GetVirtualEthernetCard().AddressType = string(types.VirtualEthernetCardMacTypeManual)
				want.GetVirtualEthernetCard().MacAddress = lower(i.MACAddress)
			}
			c.adapter(have, spec.Interfaces, n, want)
		case listed(n, i):
			if !known {
				return
			}
			c.adapter(have, spec.Interfaces, n, newCard(*i, backing, newAdapterKey-int32(n)))
		}
	}
}

// attached are the disks of the volumes, by name; nil for one that somebody took away. A
// volume of an adopted VM that names the whole of its place is the disk that is there.
func (c *comparison) attached() map[string]*types.VirtualDisk {
	out := observe.Volumes(c.vm)
	if !c.adopted {
		return out
	}
	var free map[string]*types.VirtualDisk
	for i := range c.want.Effective.Volumes {
		v := &c.want.Effective.Volumes[i]
		if _, recorded := out[v.Name]; recorded || v.Disk == nil || v.ControllerBusNumber == nil || v.UnitNumber == nil {
			continue
		}
		if free == nil {
			free = c.unrecorded(out)
		}
		at := observe.Controller{Kind: bus(v), Bus: *v.ControllerBusNumber}
		if disk := free[at.Slot(*v.UnitNumber)]; disk != nil {
			if out == nil {
				out = map[string]*types.VirtualDisk{}
			}
			out[v.Name] = disk
		}
	}
	return out
}

// unrecorded are the disks that are none of a volume, nor the boot disk, nor first class, by
// the places that they are at.
func (c *comparison) unrecorded(volumes map[string]*types.VirtualDisk) map[string]*types.VirtualDisk {
	taken := map[string]bool{extra(c, observe.BootDiskKey): true}
	for _, disk := range volumes {
		if disk != nil {
			taken[observe.SlotOf(c.vm, disk)] = true
		}
	}
	out := map[string]*types.VirtualDisk{}
	for _, d := range c.have.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || observe.FirstClassID(disk) != "" {
			continue
		}
		if slot := observe.SlotOf(c.vm, disk); slot != "" && !taken[slot] {
			out[slot] = disk
		}
	}
	return out
}

// takeDisk records that a disk of an adopted VM is that of a volume.
func (c *comparison) takeDisk(v *vmv1alpha1.VirtualMachineVolume, disk *types.VirtualDisk) {
	if c.adopted && extra(c, observe.VolumeKey(v.Name)) == "" {
		c.extraConfig("metadata.volumes", observe.VolumeKey(v.Name), observe.SlotOf(c.vm, disk), true, false)
	}
}

// like copies an adapter with all that the API says of it.
func like(nic types.BaseVirtualEthernetCard) types.BaseVirtualEthernetCard {
	out := reflect.New(reflect.TypeOf(nic).Elem())
	out.Elem().Set(reflect.ValueOf(nic).Elem())
	return out.Interface().(types.BaseVirtualEthernetCard)
}

// unappliedAdopted names what of the spec an adopted VM does not get.
func (c *comparison) unappliedAdopted(say func(format string, args ...any)) {
	if !c.adopted {
		return
	}
	const why = "the virtual machine was taken over"
	e := c.want.Effective
	if fw := e.Firmware; fw != nil {
		if fw.UUID != "" && lower(fw.UUID) != lower(c.have.Uuid) {
			say("firmware.uuid %s (%s, and keeps %s)", fw.UUID, why, lower(c.have.Uuid))
		}
		if fw.Bootloader != "" && lower(string(fw.Bootloader)) != lower(c.have.Firmware) {
			say("firmware.bootloader %s (%s, and was installed for %s)", fw.Bootloader, why, c.have.Firmware)
		}
	}
	if b := e.Bootstrap; b != nil && (b.CloudInit != nil || b.LinuxPrep != nil || b.VAppConfig != nil || b.Sysprep != nil || b.Ignition != nil) {
		say("bootstrap (%s, and has started before)", why)
	}
	have := observe.Assign(c.vm, interfacesOf(e), c.want.Adapters)
	if n := len(have.Removed) + len(have.Others); n > 0 {
		say("network.interfaces: %d adapters that are not in the spec stay (%s)", n, why)
	}
}
