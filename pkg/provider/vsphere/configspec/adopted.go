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

// isAdopted reports whether the object has adopted the VM or is about to adopt it. Only the fields that the spec sets
// are changed on such a VM.
func isAdopted(want Desired, vm *mo.VirtualMachine) bool {
	if vm.Config == nil || want.New {
		return false
	}
	mark := observe.ExtraConfig(vm, observe.AdoptedKey)
	return observe.OwnershipOf(vm, want.Owner()) == driver.Unowned || mark != "" && mark == want.Owner().UID
}

// isListed reports whether a user has listed the interface in the spec. The interface that every VM gets by default
// has only a name.
func isListed(n int, i *vmv1alpha1.VirtualMachineNetworkInterface) bool {
	return n > 0 || i.Network != "" || i.MACAddress != ""
}

// compareAdopted applies the networks and addresses of the spec to the adapters of an adopted VM. It adds adapters
// for listed interfaces that have none. Other adapters, and all adapter models, stay unchanged.
func (a *adapters) compareAdopted() []Difference {
	var out []Difference
	for n := range a.interfaces {
		i, card := &a.interfaces[n], a.have.Cards[n]
		backing, known := a.NetworkBackings[i.Network]
		switch {
		case card != nil:
			if i.Network != "" && !known {
				return out // Not resolved yet.
			}
			want := cloneCard(card)
			if i.Network != "" {
				want.GetVirtualEthernetCard().Backing = backing
			}
			if i.MACAddress != "" {
				want.GetVirtualEthernetCard().AddressType = string(types.VirtualEthernetCardMacTypeManual)
				want.GetVirtualEthernetCard().MacAddress = lower(i.MACAddress)
			}
			out = append(out, a.compare(n, want))
		case isListed(n, i):
			if !known {
				return out
			}
			out = append(out, a.compare(n, newCard(*i, backing, newAdapterKey-int32(n))))
		}
	}
	return out
}

// attachedDisks returns the disks of the volumes by volume name. The disk is nil if a volume's disk was removed in
// vSphere. A volume of an adopted VM that sets both its controller bus number and its unit number gets the disk at
// that position.
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
		at := observe.Controller{Kind: busOf(v), Bus: *v.ControllerBusNumber}
		if disk := free[at.Slot(*v.UnitNumber)]; disk != nil {
			if out == nil {
				out = map[string]*types.VirtualDisk{}
			}
			out[v.Name] = disk
		}
	}
	return out
}

// unrecordedDisks returns disks by their position. It leaves out volumes' disks, the boot disk and first class
// disks.
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

// recordAdoptedDisk records that a disk of an adopted VM belongs to a volume.
func recordAdoptedDisk(in *input, v *vmv1alpha1.VirtualMachineVolume, disk *types.VirtualDisk) Difference {
	if in.adopted && in.extra(observe.VolumeKey(v.Name)) == "" {
		return compareOption(in, "metadata.volumes", observe.VolumeKey(v.Name), observe.SlotOf(in.vm, disk), true, false)
	}
	return Difference{}
}

// cloneCard returns a copy of an adapter with all its properties.
func cloneCard(nic types.BaseVirtualEthernetCard) types.BaseVirtualEthernetCard {
	out := reflect.New(reflect.TypeOf(nic).Elem())
	out.Elem().Set(reflect.ValueOf(nic).Elem())
	return out.Interface().(types.BaseVirtualEthernetCard)
}

// reportUnappliedAdopted reports the settings of the spec that do not apply to an adopted VM.
func reportUnappliedAdopted(in *input, reportf func(format string, args ...any)) {
	if !in.adopted {
		return
	}
	const why = "the virtual machine was adopted"
	e := in.Effective
	if fw := e.Firmware; fw != nil {
		if fw.UUID != "" && lower(fw.UUID) != lower(in.config.Uuid) {
			reportf("firmware.uuid %s (%s, and keeps %s)", fw.UUID, why, lower(in.config.Uuid))
		}
		if fw.Bootloader != "" && lower(string(fw.Bootloader)) != lower(in.config.Firmware) {
			reportf("firmware.bootloader %s (%s, and its guest was installed for %s)", fw.Bootloader, why, in.config.Firmware)
		}
	}
	if b := e.Bootstrap; b != nil && (b.CloudInit != nil || b.LinuxPrep != nil || b.VAppConfig != nil || b.Sysprep != nil || b.Ignition != nil) {
		reportf("bootstrap (%s, and its guest has already booted)", why)
	}
	have := observe.Assign(in.vm, interfacesOf(e), in.Adapters)
	if n := len(have.Removed) + len(have.Others); n > 0 {
		reportf("network.interfaces: %d adapters that are not in the spec stay (%s)", n, why)
	}
}
