// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// firstCard is the device key of a VM's first network card.
const firstCard = 4000

// numberCards assigns the lowest free key to every added network card. Keys of removed cards are reused (vSphere API,
// VirtualDevice.key).
func numberCards(devices []types.BaseVirtualDevice, changes []types.BaseVirtualDeviceConfigSpec) {
	used := map[int32]bool{}
	for _, d := range devices {
		used[d.GetVirtualDevice().Key] = true
	}
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		if _, card := change.Device.(types.BaseVirtualEthernetCard); !card {
			continue
		}
		switch device := change.Device.GetVirtualDevice(); change.Operation {
		case types.VirtualDeviceConfigSpecOperationRemove:
			delete(used, device.Key)
		case types.VirtualDeviceConfigSpecOperationAdd:
			for device.Key = firstCard; used[device.Key]; {
				device.Key++
			}
			used[device.Key] = true
		}
	}
}

// checkPoweredCards refuses changes of network cards that a powered-on virtual machine does not support: adding a
// card while hotplug is off or with SR-IOV, and changing an address or a model.
func checkPoweredCards(config *types.VirtualMachineConfigInfo, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	fixed := slices.ContainsFunc(config.ExtraConfig, func(o types.BaseOptionValue) bool {
		v, _ := o.GetOptionValue().Value.(string)
		return o.GetOptionValue().Key == "devices.hotplug" && strings.EqualFold(v, "FALSE")
	})
	cards := map[int32]types.BaseVirtualEthernetCard{}
	for _, d := range config.Hardware.Device {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			cards[card.GetVirtualEthernetCard().Key] = card
			fixed = fixed || isSRIOV(card)
		}
	}
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		card, ok := change.Device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		refused := fixed || isSRIOV(card)
		if change.Operation == types.VirtualDeviceConfigSpecOperationEdit {
			have, want := cards[card.GetVirtualEthernetCard().Key].GetVirtualEthernetCard(), card.GetVirtualEthernetCard()
			refused = isSRIOV(card) || want.MacAddress != "" && !strings.EqualFold(want.MacAddress, have.MacAddress)
		}
		if refused {
			return &types.InvalidPowerState{
				RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: types.VirtualMachinePowerStatePoweredOn,
			}
		}
	}
	return nil
}

func isSRIOV(card types.BaseVirtualEthernetCard) bool {
	_, ok := card.(*types.VirtualSriovEthernetCard)
	return ok
}

// checkMemory refuses to power on a virtual machine with SR-IOV unless all of its memory is reserved.
func checkMemory(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
	if !ok || method.Name != "PowerOnVM_Task" {
		return nil
	}
	lacks := false
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(vm, func() {
		reserved := vm.Config.MemoryReservationLockedToMax != nil && *vm.Config.MemoryReservationLockedToMax
		if a := vm.Config.MemoryAllocation; a != nil && a.Reservation != nil && *a.Reservation >= int64(vm.Config.Hardware.MemoryMB) {
			reserved = true
		}
		lacks = !reserved && slices.ContainsFunc(vm.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool {
			card, ok := d.(types.BaseVirtualEthernetCard)
			return ok && isSRIOV(card)
		})
	})
	if lacks {
		return &types.InvalidVmConfig{Property: "memoryAllocation.reservation"}
	}
	return nil
}

// checkCardBacking rejects networks that are not in the datacenter, and port groups that virtual machines cannot use.
func checkCardBacking(ctx *simulator.Context, dc *simulator.Datacenter, b types.BaseVirtualDeviceBackingInfo) bool {
	switch b := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return ctx.Map.FindByName(b.DeviceName, dc.Network) != nil
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		key := types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
		group, ok := ctx.Map.Get(key).(*simulator.DistributedVirtualPortgroup)
		if !ok || group.Config.Uplink != nil && *group.Config.Uplink || group.Config.DistributedVirtualSwitch == nil {
			return false
		}
		dvs, ok := ctx.Map.Get(*group.Config.DistributedVirtualSwitch).(*simulator.DistributedVirtualSwitch)
		return ok && dvs.Uuid == b.Port.SwitchUuid
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		return slices.ContainsFunc(dc.Network, func(ref types.ManagedObjectReference) bool {
			network, ok := ctx.Map.Get(ref).(*mo.OpaqueNetwork)
			if !ok {
				return false
			}
			summary, ok := network.Summary.(*types.OpaqueNetworkSummary)
			return ok && summary.OpaqueNetworkId == b.OpaqueNetworkId && summary.OpaqueNetworkType == b.OpaqueNetworkType
		})
	}
	return b != nil
}
