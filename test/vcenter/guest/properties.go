// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	ipv4Prefix = 24
	ipv6Prefix = 64
	// toolsVersion is a VMware Tools 12.4 build number in vSphere's encoding.
	toolsVersion = "12416"
)

// addresses returns the addresses of one network card. Managed object
// references are never used twice, so their number makes the addresses unique.
func addresses(ref types.ManagedObjectReference, card int) (v4, v6 string) {
	n, err := strconv.ParseUint(ref.Value[strings.LastIndex(ref.Value, "-")+1:], 10, 32)
	if err != nil {
		for _, b := range []byte(ref.Value) { // a foreign reference still gets a stable number
			n = n*31 + uint64(b)
		}
	}
	// 10.<card and high part>.<middle>.<1..254>: no network or broadcast address.
	high := (uint64(card)*64 + n/254/256%64) % 256
	v4 = fmt.Sprintf("10.%d.%d.%d", high, n/254%256, n%254+1)
	return v4, fmt.Sprintf("fd00:0:0:%x::%x:%x", card, n>>16&0xffff, n&0xffff)
}

// hostName converts the name of a virtual machine to a valid DNS label.
func hostName(name string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	if len(label) > 63 {
		label = label[:63]
	}
	return strings.Trim(label, "-")
}

// running returns the properties of a guest with an identity that has booted, and
// that has configured itself by the seed, if there is one.
func running(vm *mo.VirtualMachine, id identity, s *seed) []types.PropertyChange {
	var nics []types.GuestNicInfo
	var first string
	if vm.Config != nil {
		cards := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualEthernetCard)(nil))
		for i, device := range cards {
			nic := network(vm, device, i, id)
			if s != nil && s.ethernets != nil {
				s.configure(device, i, &nic)
			}
			if first == "" && len(nic.IpAddress) != 0 {
				first = nic.IpAddress[0]
			}
			nics = append(nics, nic)
		}
	}
	name := id.hostName
	if name == "" && s != nil {
		name = s.hostName
	}
	if name == "" {
		name = hostName(vm.Name)
	}
	changes := []types.PropertyChange{
		{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsOk},
		{Name: "guest.toolsVersion", Val: toolsVersion},
		{Name: "guest.toolsVersionStatus2", Val: string(types.VirtualMachineToolsVersionStatusGuestToolsCurrent)},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)},
		{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateRunning)},
		{Name: "guest.hostName", Val: name},
		{Name: "guest.ipAddress", Val: first},
		{Name: "guest.net", Val: nics},
		{Name: "guestHeartbeatStatus", Val: types.ManagedEntityStatusGreen},
		{Name: "summary.quickStats.guestHeartbeatStatus", Val: types.ManagedEntityStatusGreen},
	}
	changes = append(changes, quickStats(100, vm.Summary.Config.MemorySizeMB/4, vm.Summary.Config.MemorySizeMB/2)...)
	return append(changes, summary(vm, types.VirtualMachineGuestSummary{
		ToolsStatus:         types.VirtualMachineToolsStatusToolsOk,
		ToolsRunningStatus:  string(types.VirtualMachineToolsRunningStatusGuestToolsRunning),
		ToolsVersionStatus2: string(types.VirtualMachineToolsVersionStatusGuestToolsCurrent),
		HostName:            name,
		IpAddress:           first,
	}))
}

// stopped returns the properties of a guest that does not run. An installed
// VMware Tools stays known, as on vCenter.
func stopped(vm *mo.VirtualMachine) []types.PropertyChange {
	status := types.VirtualMachineToolsStatusToolsNotRunning
	if vm.Guest == nil || vm.Guest.ToolsStatus == types.VirtualMachineToolsStatusToolsNotInstalled {
		status = types.VirtualMachineToolsStatusToolsNotInstalled
	}
	changes := []types.PropertyChange{
		{Name: "guest.toolsStatus", Val: status},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateNotRunning)},
		{Name: "guest.hostName", Val: ""},
		{Name: "guest.ipAddress", Val: ""},
		{Name: "guest.net", Val: []types.GuestNicInfo{}},
		{Name: "guestHeartbeatStatus", Val: types.ManagedEntityStatusGray},
		{Name: "summary.quickStats.guestHeartbeatStatus", Val: types.ManagedEntityStatusGray},
	}
	changes = append(changes, quickStats(0, 0, 0)...)
	return append(changes, summary(vm, types.VirtualMachineGuestSummary{
		ToolsStatus:        status,
		ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning),
	}))
}

// shutdown sets runtime.cleanPowerOff, which vSphere has of a virtual machine that is powered off
// only (API, VirtualMachineRuntimeInfo.cleanPowerOff).
func shutdown(off bool) []types.PropertyChange {
	var clean types.AnyType
	if off {
		clean = true
	}
	return []types.PropertyChange{{Name: "runtime.cleanPowerOff", Val: clean}, {Name: "summary.runtime.cleanPowerOff", Val: clean}}
}

// quickStats returns the usage of a guest, in MHz and MiB.
func quickStats(cpu, active, hosted int32) []types.PropertyChange {
	return []types.PropertyChange{
		{Name: "summary.quickStats.overallCpuUsage", Val: cpu},
		{Name: "summary.quickStats.guestMemoryUsage", Val: active},
		{Name: "summary.quickStats.hostMemoryUsage", Val: hosted},
	}
}

func summary(vm *mo.VirtualMachine, guest types.VirtualMachineGuestSummary) types.PropertyChange {
	if vm.Summary.Guest != nil {
		guest.GuestId, guest.GuestFullName = vm.Summary.Guest.GuestId, vm.Summary.Guest.GuestFullName
	}
	return types.PropertyChange{Name: "summary.guest", Val: guest}
}

func network(vm *mo.VirtualMachine, device types.BaseVirtualDevice, i int, id identity) types.GuestNicInfo {
	v4, v6 := addresses(vm.Self, i)
	nic := types.GuestNicInfo{
		Connected:      true,
		DeviceConfigId: device.GetVirtualDevice().Key,
		IpAddress:      []string{v4, v6},
		IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{
			{IpAddress: v4, PrefixLength: ipv4Prefix, State: string(types.NetIpConfigInfoIpAddressStatusPreferred)},
			{IpAddress: v6, PrefixLength: ipv6Prefix, State: string(types.NetIpConfigInfoIpAddressStatusPreferred)},
		}},
	}
	if fixed := id.addresses[nic.DeviceConfigId]; len(fixed) > 0 {
		nic.IpAddress, nic.IpConfig.IpAddress = fixed, nil
		for _, address := range fixed {
			nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
				IpAddress: address, PrefixLength: ipv4Prefix, State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
			})
		}
	}
	if card, ok := device.(types.BaseVirtualEthernetCard); ok {
		nic.MacAddress = card.GetVirtualEthernetCard().MacAddress
	}
	if backing, ok := device.GetVirtualDevice().Backing.(*types.VirtualEthernetCardNetworkBackingInfo); ok {
		nic.Network = backing.DeviceName
	}
	return nic
}
