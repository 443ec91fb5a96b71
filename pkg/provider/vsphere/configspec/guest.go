// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

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

// unappliedNetwork names what the guest would have to be told.
func unappliedNetwork(e *vmv1alpha1.VirtualMachineInstanceSpec, say func(format string, args ...any)) {
	cloudInit, customized := inGuest(e)
	if e.Network == nil || e.Network.Disabled {
		return
	}
	n := e.Network
	if cloudInit {
		if e.Bootstrap.CloudInit.RawNetworkConfig != nil && configured(n) {
			say("network: settings for the guest (bootstrap.cloudInit.rawNetworkConfig is in their place)")
		}
		return
	}
	unapplied := func(path string, asked bool) {
		if asked {
			say("%s (needs bootstrap.cloudInit to reach the guest)", path)
		}
	}
	if b := e.Bootstrap; customized && b.Sysprep != nil && b.Sysprep.RawSysprep != nil && n.HostName != "" {
		say("network.hostName (the answer file of bootstrap.sysprep names the computer)")
	}
	if !customized {
		unapplied("network.hostName", n.HostName != "")
		unapplied("network.domainName", n.DomainName != "")
		unapplied("network.nameservers", len(n.Nameservers) > 0)
		unapplied("network.searchDomains", len(n.SearchDomains) > 0)
	}
	for _, i := range n.Interfaces {
		at := "network.interfaces[" + i.Name + "]."
		unapplied(at+"dhcp4", i.DHCP4 != nil && !*i.DHCP4 && !(customized && countIPv4(i.Addresses) > 0))
		unapplied(at+"dhcp6", i.DHCP6 != nil && *i.DHCP6 && !customized)
		unapplied(at+"mtu", i.MTU != nil)
	}
}
