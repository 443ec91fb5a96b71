// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// inGuest is true when something in the guest takes its network configuration.
func inGuest(e *vmv1alpha1.VirtualMachineInstanceSpec) bool {
	return e.Bootstrap != nil && e.Bootstrap.CloudInit != nil
}

// refusedAddresses refuses addresses that nothing would give to the guest: it
// would come up with others.
func refusedAddresses(e *vmv1alpha1.VirtualMachineInstanceSpec, say func(format string, args ...any)) {
	if e.Network == nil || e.Network.Disabled || inGuest(e) {
		return
	}
	for _, i := range e.Network.Interfaces {
		for field, asked := range map[string]bool{
			"addresses": len(i.Addresses) > 0, "gateway4": i.Gateway4 != "", "gateway6": i.Gateway6 != "",
		} {
			if asked {
				say("network.interfaces[%s].%s: needs bootstrap.cloudInit, which hands it to the guest", i.Name, field)
			}
		}
	}
}

// unappliedNetwork names what the guest would have to be told.
func unappliedNetwork(e *vmv1alpha1.VirtualMachineInstanceSpec, say func(format string, args ...any)) {
	if e.Network == nil || e.Network.Disabled || inGuest(e) {
		return
	}
	n := e.Network
	unapplied := func(path string, asked bool) {
		if asked {
			say("%s (without bootstrap.cloudInit the guest is not told)", path)
		}
	}
	unapplied("network.hostName", n.HostName != "")
	unapplied("network.domainName", n.DomainName != "")
	unapplied("network.nameservers", len(n.Nameservers) > 0)
	unapplied("network.searchDomains", len(n.SearchDomains) > 0)
	for _, i := range n.Interfaces {
		at := "network.interfaces[" + i.Name + "]."
		unapplied(at+"dhcp4", i.DHCP4 != nil && !*i.DHCP4)
		unapplied(at+"dhcp6", i.DHCP6 != nil)
		unapplied(at+"mtu", i.MTU != nil)
	}
}
