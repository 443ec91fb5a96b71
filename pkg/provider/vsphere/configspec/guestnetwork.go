// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"

	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// maxLinuxName is the longest name of an interface that Linux takes (IFNAMSIZ - 1).
const maxLinuxName = 15

// configured is true when an interface asks for more than the image's default.
func configured(n *vmv1alpha1.VirtualMachineNetworkSpec) bool {
	if n.Disabled || len(n.Interfaces) == 0 {
		return false
	}
	if len(n.Nameservers)+len(n.SearchDomains) > 0 {
		return true
	}
	for i := range n.Interfaces {
		if len(settings(&n.Interfaces[i])) > 0 {
			return true
		}
	}
	return false
}

// TellsLater is true when cloud-init is to be told of adapters that vm does not have
// yet, so that it can be told only once it has them.
func TellsLater(want Want, vm *mo.VirtualMachine) bool {
	e := want.Effective
	if e == nil || e.Bootstrap == nil || e.Bootstrap.CloudInit == nil {
		return false
	}
	_, told := cloudInitMetadata(newInput(want, vm), e.Bootstrap.CloudInit)
	return !told
}

// macAddresses are those of the adapters, in the order of the interfaces. The guest
// finds an adapter by nothing else: its own name for it depends on the slot and on the
// distribution. It is false while an address is not known, which vSphere chooses
// when it makes the adapter.
func macAddresses(in *input, n *vmv1alpha1.VirtualMachineNetworkSpec) ([]string, bool) {
	have := observe.Assign(in.vm, n.Interfaces, in.Adapters)
	out := make([]string, len(n.Interfaces))
	for at := range n.Interfaces {
		i, card := &n.Interfaces[at], have.Cards[at]
		switch {
		case i.MACAddress != "":
			out[at] = lower(i.MACAddress)
		// An adapter of another model gives way to one with another address.
		case card == nil || card.GetVirtualEthernetCard().MacAddress == "" || !in.adopted && model(card) != model(newCard(*i, nil, 0)):
			return nil, false
		default:
			out[at] = lower(card.GetVirtualEthernetCard().MacAddress)
		}
	}
	return out, true
}

// networkConfig is cloud-init's network configuration, version 2. It names every
// interface: one that it leaves out would not be brought up.
func networkConfig(n *vmv1alpha1.VirtualMachineNetworkSpec, macs []string) map[string]any {
	ethernets := map[string]any{}
	for at := range n.Interfaces {
		i := &n.Interfaces[at]
		e := settings(i)
		if len(i.Addresses) == 0 && i.DHCP4 == nil && i.DHCP6 == nil {
			e["dhcp4"] = true // As images do.
		}
		e["match"] = map[string]any{"macaddress": macs[at]}
		if len(i.Name) <= maxLinuxName {
			e["set-name"] = i.Name
		}
		names := map[string]any{}
		if len(n.Nameservers) > 0 {
			names["addresses"] = n.Nameservers
		}
		if len(n.SearchDomains) > 0 {
			names["search"] = n.SearchDomains
		}
		if len(names) > 0 {
			e["nameservers"] = names
		}
		ethernets[i.Name] = e
	}
	return map[string]any{"version": 2, "ethernets": ethernets}
}

// settings are what the interface itself asks for.
func settings(i *vmv1alpha1.VirtualMachineNetworkInterface) map[string]any {
	e := map[string]any{}
	if i.DHCP4 != nil {
		e["dhcp4"] = *i.DHCP4
	}
	if i.DHCP6 != nil {
		e["dhcp6"] = *i.DHCP6
	}
	if len(i.Addresses) > 0 {
		e["addresses"] = i.Addresses
	}
	if i.Gateway4 != "" {
		e["gateway4"] = i.Gateway4
	}
	if i.Gateway6 != "" {
		e["gateway6"] = i.Gateway6
	}
	if i.MTU != nil {
		e["mtu"] = *i.MTU
	}
	return e
}

// inGuest says what takes the network configuration in the guest: cloud-init, which takes
// all of it, or a guest customization of vSphere.
func inGuest(e *vmv1alpha1.VirtualMachineInstanceSpec) (cloudInit, customized bool) {
	b := e.Bootstrap
	return b != nil && b.CloudInit != nil, b != nil && (b.LinuxPrep != nil || b.Sysprep != nil)
}

// whoTells is what hands network settings to the guest.
const whoTells = "bootstrap.cloudInit, linuxPrep or sysprep"

// refusedAddresses refuses addresses that nothing would give to the guest: it
// would come up with others.
func refusedAddresses(e *vmv1alpha1.VirtualMachineInstanceSpec, say func(format string, args ...any)) {
	cloudInit, customized := inGuest(e)
	if e.Network == nil || e.Network.Disabled || cloudInit {
		return
	}
	for _, i := range e.Network.Interfaces {
		fields := map[string]bool{"addresses": len(i.Addresses) > 0, "gateway4": i.Gateway4 != "", "gateway6": i.Gateway6 != ""}
		if len(i.AddressesFromPools) > 0 { // The others may come from there.
			fields = map[string]bool{"addressesFromPools": true}
		}
		for field, asked := range fields {
			if asked && !customized {
				say("network.interfaces[%s].%s: needs %s, which hands it to the guest", i.Name, field, whoTells)
			}
		}
		if customized && countIPv4(i.Addresses) > 1 {
			say("network.interfaces[%s].addresses: a guest customization takes one IPv4 address", i.Name)
		}
	}
}

func countIPv4(addresses []string) int {
	n := 0
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a); err == nil && p.Addr().Is4() {
			n++
		}
	}
	return n
}
