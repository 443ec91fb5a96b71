// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// network compares the adapters, in order. They are one difference, for adding
// one in the middle renumbers the rest.
func (c *comparison) network() {
	spec := c.want.Effective.Network
	if spec == nil || (len(spec.Interfaces) == 0 && !spec.Disabled) {
		return
	}
	if c.adopted {
		c.adoptedNetwork(spec)
		return
	}
	var interfaces []vmv1alpha1.VirtualMachineNetworkInterface
	if !spec.Disabled {
		interfaces = spec.Interfaces
	}
	for _, i := range interfaces {
		if _, ok := c.want.Backings[i.Network]; !ok {
			return
		}
	}
	cards := observe.EthernetCards(c.vm)
	var running, desired []string
	var changes []types.BaseVirtualDeviceConfigSpec
	for n := range max(len(cards), len(interfaces)) {
		if n < len(cards) {
			running = append(running, describe(cards[n]))
		}
		if n >= len(interfaces) {
			changes = append(changes, change(types.VirtualDeviceConfigSpecOperationRemove, cards[n]))
			continue
		}
		want := newCard(interfaces[n], c.want.Backings[interfaces[n].Network], int32(-100-n))
		if n >= len(cards) {
			desired = append(desired, describe(want))
			changes = append(changes, change(types.VirtualDeviceConfigSpecOperationAdd, want))
			continue
		}
		edits, got := reconcileCard(cards[n], want)
		changes = append(changes, edits...)
		desired = append(desired, describe(got))
	}
	c.adapters(running, desired, changes)
}

// adapters is the one difference that the adapters are.
func (c *comparison) adapters(running, desired []string, changes []types.BaseVirtualDeviceConfigSpec) {
	before := len(c.out)
	c.add(Difference{Path: hardware.Interfaces, Running: strings.Join(running, ", "), Desired: strings.Join(desired, ", "),
		set: func(s *types.VirtualMachineConfigSpec) { s.DeviceChange = append(s.DeviceChange, changes...) }})
	c.adaptersChange = len(c.out) > before
}

// reconcileCard returns the edits that make have as want, and the result.
func reconcileCard(have, want types.BaseVirtualEthernetCard) ([]types.BaseVirtualDeviceConfigSpec, types.BaseVirtualEthernetCard) {
	h, w := have.GetVirtualEthernetCard(), want.GetVirtualEthernetCard()
	if w.MacAddress == "" {
		w.MacAddress, w.AddressType = h.MacAddress, h.AddressType
	}
	if describe(have) == describe(want) {
		return nil, want
	}
	if model(have) != model(want) {
		w.MacAddress, w.AddressType = requested(want, h)
		return []types.BaseVirtualDeviceConfigSpec{
			change(types.VirtualDeviceConfigSpecOperationRemove, have),
			change(types.VirtualDeviceConfigSpecOperationAdd, want),
		}, want
	}
	w.Key, w.ControllerKey, w.UnitNumber = h.Key, h.ControllerKey, h.UnitNumber
	return []types.BaseVirtualDeviceConfigSpec{change(types.VirtualDeviceConfigSpecOperationEdit, want)}, want
}

// requested drops an address that was only taken over from the old adapter, so
// that vSphere chooses one for the new.
func requested(want types.BaseVirtualEthernetCard, old *types.VirtualEthernetCard) (mac, addressType string) {
	w := want.GetVirtualEthernetCard()
	if w.AddressType == string(types.VirtualEthernetCardMacTypeManual) && w.MacAddress != old.MacAddress {
		return w.MacAddress, w.AddressType
	}
	return "", string(types.VirtualEthernetCardMacTypeGenerated)
}

func change(op types.VirtualDeviceConfigSpecOperation, nic types.BaseVirtualEthernetCard) types.BaseVirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: op, Device: nic.(types.BaseVirtualDevice)}
}

// newCard builds an adapter; virtio means vmxnet3, and so does no model.
func newCard(i vmv1alpha1.VirtualMachineNetworkInterface, backing types.BaseVirtualDeviceBackingInfo, key int32) types.BaseVirtualEthernetCard {
	var nic types.BaseVirtualEthernetCard
	switch i.Model {
	case "e1000":
		nic = &types.VirtualE1000{}
	case "e1000e":
		nic = &types.VirtualE1000e{}
	case "sriov":
		nic = &types.VirtualSriovEthernetCard{}
	default:
		nic = &types.VirtualVmxnet3{}
	}
	card := nic.GetVirtualEthernetCard()
	card.Key = key
	card.Backing = backing
	card.AddressType = string(types.VirtualEthernetCardMacTypeGenerated)
	card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
	if i.MACAddress != "" {
		card.AddressType, card.MacAddress = string(types.VirtualEthernetCardMacTypeManual), strings.ToLower(i.MACAddress)
	}
	return nic
}

// describe is what decides whether two adapters are the same.
func describe(nic types.BaseVirtualEthernetCard) string {
	card := nic.GetVirtualEthernetCard()
	return hardware.Adapter(model(nic), backingName(card.Backing), card.MacAddress)
}

func model(nic types.BaseVirtualEthernetCard) string {
	switch nic.(type) {
	case *types.VirtualE1000:
		return "e1000"
	case *types.VirtualE1000e:
		return "e1000e"
	case *types.VirtualSriovEthernetCard:
		return "sriov"
	case *types.VirtualVmxnet3, *types.VirtualVmxnet3Vrdma:
		return "vmxnet3"
	}
	return fmt.Sprintf("%T", nic)
}

func backingName(b types.BaseVirtualDeviceBackingInfo) string {
	switch b := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return b.Port.PortgroupKey
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		return b.OpaqueNetworkId
	}
	return "nothing"
}
