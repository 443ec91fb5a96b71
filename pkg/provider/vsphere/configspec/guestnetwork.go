// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"

	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// maxLinuxName is the maximum length of an interface name in Linux (IFNAMSIZ - 1).
const maxLinuxName = 15

// isNetworkConfigured reports whether the spec configures the guest's network, so that the image's default does not
// suffice.
func isNetworkConfigured(n *vmv1alpha1.VirtualMachineNetworkSpec) bool {
	if n.Disabled || len(n.Interfaces) == 0 {
		return false
	}
	if len(n.Nameservers)+len(n.SearchDomains) > 0 {
		return true
	}
	for i := range n.Interfaces {
		if len(interfaceSettings(&n.Interfaces[i])) > 0 {
			return true
		}
	}
	return false
}

// NeedsAdapters reports whether cloud-init's metadata needs adapters that vm does not have yet. The metadata can
// be set only after the adapters exist.
func NeedsAdapters(want Desired, vm *mo.VirtualMachine) bool {
	e := want.Effective
	if e == nil || e.Bootstrap == nil || e.Bootstrap.CloudInit == nil {
		return false
	}
	_, complete := cloudInitMetadata(newInput(want, vm), e.Bootstrap.CloudInit)
	return !complete
}

// macAddresses returns the adapters' MAC addresses in the order of the interfaces. The guest identifies an adapter
// by its MAC address, because the adapter's name in the guest depends on its slot and on the distribution. It
// returns false if an address is not known yet: vSphere chooses it when it creates the adapter.
func macAddresses(in *input, n *vmv1alpha1.VirtualMachineNetworkSpec) ([]string, bool) {
	have := observe.Assign(in.vm, n.Interfaces, in.Adapters)
	out := make([]string, len(n.Interfaces))
	for at := range n.Interfaces {
		i, card := &n.Interfaces[at], have.Cards[at]
		switch {
		case i.MACAddress != "":
			out[at] = lower(i.MACAddress)
		// An adapter of another model is replaced by an adapter with another address.
		case card == nil || card.GetVirtualEthernetCard().MacAddress == "" || !in.adopted && modelOf(card) != modelOf(newCard(*i, nil, 0)):
			return nil, false
		default:
			out[at] = lower(card.GetVirtualEthernetCard().MacAddress)
		}
	}
	return out, true
}

// networkConfig returns cloud-init's network configuration, version 2. It lists every interface, because cloud-init
// does not bring up an interface that is missing.
func networkConfig(n *vmv1alpha1.VirtualMachineNetworkSpec, macs []string) map[string]any {
	ethernets := map[string]any{}
	for at := range n.Interfaces {
		i := &n.Interfaces[at]
		e := interfaceSettings(i)
		if len(i.Addresses) == 0 && i.DHCP4 == nil && i.DHCP6 == nil {
			e["dhcp4"] = true // The default of most images.
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

// interfaceSettings returns the settings of a single interface.
func interfaceSettings(i *vmv1alpha1.VirtualMachineNetworkInterface) map[string]any {
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

// guestAgents reports whether the guest gets its network configuration from cloud-init or from a vSphere guest
// customization. Cloud-init supports all settings.
func guestAgents(e *vmv1alpha1.VirtualMachineInstanceSpec) (cloudInit, customized bool) {
	b := e.Bootstrap
	return b != nil && b.CloudInit != nil, b != nil && (b.LinuxPrep != nil || b.Sysprep != nil)
}

// needsBootstrap names the bootstrap types that pass network settings to the guest.
const needsBootstrap = "bootstrap.cloudInit, linuxPrep or sysprep"

// refuseAddresses refuses addresses if no bootstrap passes them to the guest, because the guest would boot with
// other addresses.
func refuseAddresses(e *vmv1alpha1.VirtualMachineInstanceSpec, reportf func(format string, args ...any)) {
	cloudInit, customized := guestAgents(e)
	if e.Network == nil || e.Network.Disabled || cloudInit {
		return
	}
	for _, i := range e.Network.Interfaces {
		fields := map[string]bool{"addresses": len(i.Addresses) > 0, "gateway4": i.Gateway4 != "", "gateway6": i.Gateway6 != ""}
		if len(i.AddressesFromPools) > 0 { // The other settings may come from the pool.
			fields = map[string]bool{"addressesFromPools": true}
		}
		for field, isSet := range fields {
			if isSet && !customized {
				reportf("network.interfaces[%s].%s: requires %s to configure it in the guest", i.Name, field, needsBootstrap)
			}
		}
		if customized && countIPv4(i.Addresses) > 1 {
			reportf("network.interfaces[%s].addresses: a guest customization supports one IPv4 address per interface", i.Name)
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
