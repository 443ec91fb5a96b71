// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// EthernetCards returns the network adapters sorted by key, which is the order in which they were added.
func EthernetCards(vm *mo.VirtualMachine) []types.BaseVirtualEthernetCard {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out []types.BaseVirtualEthernetCard
	for _, d := range vm.Config.Hardware.Device {
		if nic, ok := d.(types.BaseVirtualEthernetCard); ok {
			out = append(out, nic)
		}
	}
	slices.SortStableFunc(out, func(a, b types.BaseVirtualEthernetCard) int {
		return int(a.GetVirtualEthernetCard().Key) - int(b.GetVirtualEthernetCard().Key)
	})
	return out
}

// networkOf returns the network status: the adapters and, while the guest is running, the values that it reports.
func networkOf(vm *mo.VirtualMachine) *vmv1alpha1.VirtualMachineNetworkStatus {
	st := &vmv1alpha1.VirtualMachineNetworkStatus{}
	for _, nic := range EthernetCards(vm) {
		card := nic.GetVirtualEthernetCard()
		st.Interfaces = append(st.Interfaces, vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
			DeviceKey: card.Key, MACAddress: card.MacAddress,
		})
	}
	if vm.Guest != nil && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		st.HostName = hostNameOf(vm.Guest)
		for _, n := range vm.Guest.Net {
			addGuestNIC(st, n)
		}
		choosePrimary(st, vm.Guest.IpAddress)
	}
	if len(st.Interfaces) == 0 && st.HostName == "" && st.PrimaryIP4 == "" && st.PrimaryIP6 == "" {
		return nil
	}
	return st
}

// maxAddresses is the maximum number of addresses of an adapter in the status.
const maxAddresses = 32

// addGuestNIC adds the addresses of an adapter. It ignores interfaces that the guest has created: on a Kubernetes
// node, one is created and deleted with every pod.
func addGuestNIC(st *vmv1alpha1.VirtualMachineNetworkStatus, n types.GuestNicInfo) {
	at := slices.IndexFunc(st.Interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterfaceStatus) bool { return i.DeviceKey == n.DeviceConfigId })
	if at < 0 {
		return
	}
	iface := &st.Interfaces[at]
	iface.Connected = n.Connected
	iface.IPAddresses = prefixes(n)
	iface.IPAddresses = iface.IPAddresses[:min(len(iface.IPAddresses), maxAddresses)]
}

// prefixes returns the addresses, with the prefix length if the guest reports it.
func prefixes(n types.GuestNicInfo) []string {
	var out []string
	if n.IpConfig != nil {
		for _, a := range n.IpConfig.IpAddress {
			addr, err := netip.ParseAddr(a.IpAddress)
			if err != nil || a.State == string(types.NetIpConfigInfoIpAddressStatusDuplicate) {
				continue
			}
			out = append(out, netip.PrefixFrom(addr.Unmap(), int(a.PrefixLength)).String())
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, a := range n.IpAddress {
		if addr, err := netip.ParseAddr(a); err == nil {
			out = append(out, addr.String())
		}
	}
	return out
}

// choosePrimary sets the primary address of each family. It uses the guest's own choice if an adapter has that
// address, otherwise the first usable address in the order of the adapters. A single-host address (/32 or /128) is
// used only if there is no other, because it may be a virtual address that moves between machines. If the adapters
// have no address, the guest's choice is used.
func choosePrimary(st *vmv1alpha1.VirtualMachineNetworkStatus, preferred string) {
	candidates := reportedAddresses(st)
	at := slices.IndexFunc(candidates, func(c string) bool { ip, _, _ := strings.Cut(c, "/"); return ip == preferred })
	if at >= 0 {
		candidates = slices.Insert(candidates, 0, candidates[at])
	} else {
		candidates = append(candidates, preferred)
	}
	slices.SortStableFunc(candidates, func(a, b string) int { return singleHostRank(a) - singleHostRank(b) })
	for _, c := range candidates {
		addr, ok := parseUsable(c)
		switch {
		case !ok:
		case addr.Is4() && st.PrimaryIP4 == "":
			st.PrimaryIP4 = addr.String()
		case addr.Is6() && st.PrimaryIP6 == "":
			st.PrimaryIP6 = addr.String()
		}
	}
}

// PreferPrimary makes the first reported address in addresses the primary address of its family. An address may
// have a prefix length, which is ignored.
func PreferPrimary(st *vmv1alpha1.VirtualMachineNetworkStatus, addresses []string) {
	reported := map[netip.Addr]bool{}
	for _, text := range append(reportedAddresses(st), st.PrimaryIP4, st.PrimaryIP6) {
		if addr, ok := parseUsable(text); ok {
			reported[addr] = true
		}
	}
	var four, six bool
	for _, text := range addresses {
		addr, ok := parseUsable(text)
		switch {
		case !ok || !reported[addr]:
		case addr.Is4() && !four:
			st.PrimaryIP4, four = addr.String(), true
		case addr.Is6() && !six:
			st.PrimaryIP6, six = addr.String(), true
		}
	}
}

// reportedAddresses returns the addresses of all adapters in order.
func reportedAddresses(st *vmv1alpha1.VirtualMachineNetworkStatus) []string {
	var out []string
	for _, i := range st.Interfaces {
		out = append(out, i.IPAddresses...)
	}
	return out
}

// singleHostRank returns 1 for an address whose prefix contains only this address, else 0.
func singleHostRank(s string) int {
	if p, err := netip.ParsePrefix(s); err == nil && p.IsSingleIP() {
		return 1
	}
	return 0
}

// parseUsable parses an address, with or without prefix length. It returns false if other machines cannot reach
// the guest at the address.
func parseUsable(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		p, perr := netip.ParsePrefix(s)
		if perr != nil {
			return netip.Addr{}, false
		}
		addr = p.Addr()
	}
	addr = addr.Unmap()
	return addr, addr.IsGlobalUnicast() && !addr.IsLinkLocalUnicast()
}
