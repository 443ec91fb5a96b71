// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// inGuest says what takes the network configuration in the guest.
func inGuest(e *vmv1alpha1.VirtualMachineInstanceSpec) (cloudInit, linuxPrep bool) {
	b := e.Bootstrap
	return b != nil && b.CloudInit != nil, b != nil && b.LinuxPrep != nil
}

// refusedAddresses refuses addresses that nothing would give to the guest: it
// would come up with others.
func refusedAddresses(e *vmv1alpha1.VirtualMachineInstanceSpec, say func(format string, args ...any)) {
	cloudInit, linuxPrep := inGuest(e)
	if e.Network == nil || e.Network.Disabled || cloudInit {
		return
	}
	for _, i := range e.Network.Interfaces {
		fields := map[string]bool{"addresses": len(i.Addresses) > 0, "gateway4": i.Gateway4 != "", "gateway6": i.Gateway6 != ""}
		if len(i.AddressesFromPools) > 0 { // The others may come from there.
			fields = map[string]bool{"addressesFromPools": true}
		}
		for field, asked := range fields {
			if asked && !linuxPrep {
				say("network.interfaces[%s].%s: needs bootstrap.cloudInit or linuxPrep, which hands it to the guest", i.Name, field)
			}
		}
		if linuxPrep && countIPv4(i.Addresses) > 1 {
			say("network.interfaces[%s].addresses: linuxPrep takes one IPv4 address", i.Name)
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
	cloudInit, linuxPrep := inGuest(e)
	if e.Network == nil || e.Network.Disabled || cloudInit {
		return
	}
	n := e.Network
	unapplied := func(path string, asked bool) {
		if asked {
			say("%s (needs bootstrap.cloudInit to reach the guest)", path)
		}
	}
	if !linuxPrep {
		unapplied("network.hostName", n.HostName != "")
		unapplied("network.domainName", n.DomainName != "")
		unapplied("network.nameservers", len(n.Nameservers) > 0)
		unapplied("network.searchDomains", len(n.SearchDomains) > 0)
	}
	for _, i := range n.Interfaces {
		at := "network.interfaces[" + i.Name + "]."
		unapplied(at+"dhcp4", i.DHCP4 != nil && !*i.DHCP4 && !(linuxPrep && countIPv4(i.Addresses) > 0))
		unapplied(at+"dhcp6", i.DHCP6 != nil && *i.DHCP6 && !linuxPrep)
		unapplied(at+"mtu", i.MTU != nil)
	}
}
