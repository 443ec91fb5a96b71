// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// adopted is true for a VM that the object has taken over, or is about to. It has a
// life of its own: the spec changes what it names, and nothing else.
func adopted(want Want, vm *mo.VirtualMachine) bool {
	if vm.Config == nil || want.New {
		return false
	}
	mark := observe.ExtraConfig(vm, observe.AdoptedKey)
	return observe.OwnershipOf(vm, want.Owner()) == driver.Unowned || mark != "" && mark == want.Owner().UID
}

// listed is true for an interface that somebody has put into the spec: the one that
// every VM gets has nothing but its name.
func listed(n int, i *vmv1alpha1.VirtualMachineNetworkInterface) bool {
	return n > 0 || i.Network != "" || i.MACAddress != ""
}

// compareAdopted gives the adapters of an adopted VM the networks and addresses that
// the spec names, and adds those that it lists and the VM does not have. The others,
// and all models, stay.
func (a *adapters) compareAdopted() []Difference {
	var out []Difference
	for n := range a.interfaces {
		i, card := &a.interfaces[n], a.have.Cards[n]
		backing, known := a.Backings[i.Network]
		switch {
		case card != nil:
			if i.Network != "" && !known {
				return out // Not resolved yet.
			}
			want := like(card)
			if i.Network != "" {
				want.GetVirtualEthernetCard().Backing = backing
			}
			if i.MACAddress != "" {
				want.GetVirtualEthernetCard().AddressType = string(types.VirtualEthernetCardMacTypeManual)
				want.GetVirtualEthernetCard().MacAddress = lower(i.MACAddress)
			}
			out = append(out, a.compare(n, want))
		case listed(n, i):
			if !known {
				return out
			}
			out = append(out, a.compare(n, newCard(*i, backing, newAdapterKey-int32(n))))
		}
	}
	return out
}

// attachedDisks are the disks of the volumes, by name; nil for one that somebody took away. A
// volume of an adopted VM that names the whole of its place is the disk that is there.
func attachedDisks(in *input) map[string]*types.VirtualDisk {
	out := observe.Volumes(in.vm)
	if !in.adopted {
		return out
	}
	var free map[string]*types.VirtualDisk
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if _, recorded := out[v.Name]; recorded || v.Disk == nil || v.ControllerBusNumber == nil || v.UnitNumber == nil {
			continue
		}
		if free == nil {
			free = unrecordedDisks(in, out)
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

// unrecordedDisks are the disks that are none of a volume, nor the boot disk, nor first class, by
// the places that they are at.
func unrecordedDisks(in *input, volumes map[string]*types.VirtualDisk) map[string]*types.VirtualDisk {
	taken := map[string]bool{in.extra(observe.BootDiskKey): true}
	for _, disk := range volumes {
		if disk != nil {
			taken[observe.SlotOf(in.vm, disk)] = true
		}
	}
	out := map[string]*types.VirtualDisk{}
	for _, disk := range ownDisks(in.vm) {
		if slot := observe.SlotOf(in.vm, disk); slot != "" && !taken[slot] {
			out[slot] = disk
		}
	}
	return out
}

// takeDisk records that a disk of an adopted VM is that of a volume.
func takeDisk(in *input, v *vmv1alpha1.VirtualMachineVolume, disk *types.VirtualDisk) Difference {
	if in.adopted && in.extra(observe.VolumeKey(v.Name)) == "" {
		return compareOption(in, "metadata.volumes", observe.VolumeKey(v.Name), observe.SlotOf(in.vm, disk), true, false)
	}
	return Difference{}
}

// like copies an adapter with all that the API says of it.
func like(nic types.BaseVirtualEthernetCard) types.BaseVirtualEthernetCard {
	out := reflect.New(reflect.TypeOf(nic).Elem())
	out.Elem().Set(reflect.ValueOf(nic).Elem())
	return out.Interface().(types.BaseVirtualEthernetCard)
}

// unappliedAdopted names what of the spec an adopted VM does not get.
func unappliedAdopted(in *input, say func(format string, args ...any)) {
	if !in.adopted {
		return
	}
	const why = "the virtual machine was taken over"
	e := in.Effective
	if fw := e.Firmware; fw != nil {
		if fw.UUID != "" && lower(fw.UUID) != lower(in.config.Uuid) {
			say("firmware.uuid %s (%s, and keeps %s)", fw.UUID, why, lower(in.config.Uuid))
		}
		if fw.Bootloader != "" && lower(string(fw.Bootloader)) != lower(in.config.Firmware) {
			say("firmware.bootloader %s (%s, and was installed for %s)", fw.Bootloader, why, in.config.Firmware)
		}
	}
	if b := e.Bootstrap; b != nil && (b.CloudInit != nil || b.LinuxPrep != nil || b.VAppConfig != nil || b.Sysprep != nil || b.Ignition != nil) {
		say("bootstrap (%s, and has started before)", why)
	}
	have := observe.Assign(in.vm, interfacesOf(e), in.Adapters)
	if n := len(have.Removed) + len(have.Others); n > 0 {
		say("network.interfaces: %d adapters that are not in the spec stay (%s)", n, why)
	}
}
