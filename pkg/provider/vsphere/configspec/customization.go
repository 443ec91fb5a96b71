// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// mark records that the VM is not complete, or that it is.
func (c *comparison) mark() {
	switch {
	case c.vm.Config == nil && c.want.Attempt != "":
		c.extraConfig("bootstrap", observe.PendingKey, c.want.Attempt, false, true)
	case c.want.Bootstrapped:
		c.extraConfig("bootstrap", observe.PendingKey, "", false, true)
	}
}

// Customization is the guest customization of the first start, nil for none.
// It has an entry for each adapter in order, as vSphere demands.
func Customization(want Want) *types.CustomizationSpec {
	if want.Effective == nil || want.Effective.Bootstrap == nil || want.Effective.Bootstrap.LinuxPrep == nil {
		return nil
	}
	prep, n := want.Effective.Bootstrap.LinuxPrep, want.Effective.Network
	if n == nil {
		n = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	host := n.HostName
	if host == "" {
		// A host name has no dots; what follows the first is the domain.
		host, _, _ = strings.Cut(want.Owner.Key.Name, ".")
	}
	spec := &types.CustomizationSpec{
		Options: &types.CustomizationLinuxOptions{},
		Identity: &types.CustomizationLinuxPrep{
			HostName: &types.CustomizationFixedName{Name: host}, Domain: n.DomainName,
			TimeZone: prep.TimeZone, HwClockUTC: prep.HardwareClockIsUTC,
		},
		GlobalIPSettings: types.CustomizationGlobalIPSettings{DnsServerList: n.Nameservers, DnsSuffixList: n.SearchDomains},
	}
	if n.Disabled {
		return spec
	}
	for _, i := range n.Interfaces {
		spec.NicSettingMap = append(spec.NicSettingMap, types.CustomizationAdapterMapping{Adapter: adapter(i, n)})
	}
	return spec
}

// adapter takes the first IPv4 address and all IPv6 ones; Refused says that
// there is no more than one IPv4 address.
func adapter(i vmv1alpha1.VirtualMachineNetworkInterface, n *vmv1alpha1.VirtualMachineNetworkSpec) types.CustomizationIPSettings {
	out := types.CustomizationIPSettings{Ip: &types.CustomizationDhcpIpGenerator{}, DnsServerList: n.Nameservers, DnsDomain: n.DomainName}
	var six types.CustomizationIPSettingsIpV6AddressSpec
	for _, a := range i.Addresses {
		p, err := netip.ParsePrefix(a)
		switch {
		case err != nil:
		case p.Addr().Is4():
			out.Ip = &types.CustomizationFixedIp{IpAddress: p.Addr().String()}
			out.SubnetMask = net.IP(net.CIDRMask(p.Bits(), 32)).String()
		default:
			six.Ip = append(six.Ip, &types.CustomizationFixedIpV6{IpAddress: p.Addr().String(), SubnetMask: int32(p.Bits())})
		}
	}
	if i.Gateway4 != "" {
		out.Gateway = []string{i.Gateway4}
	}
	if i.DHCP6 != nil && *i.DHCP6 {
		six.Ip = append(six.Ip, &types.CustomizationDhcpIpV6Generator{})
	}
	if i.Gateway6 != "" {
		six.Gateway = []string{i.Gateway6}
	}
	if len(six.Ip) > 0 {
		out.IpV6Spec = &six
	}
	return out
}
