// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Customization is the guest customization of the first start and the field that asks for
// it, nil for none. It has an entry for each adapter in order, as vSphere demands.
func Customization(want Want) (spec *types.CustomizationSpec, path string) {
	if want.Effective == nil || want.Effective.Bootstrap == nil {
		return nil, ""
	}
	b, n := want.Effective.Bootstrap, want.Effective.Network
	if n == nil {
		n = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	spec = &types.CustomizationSpec{GlobalIPSettings: types.CustomizationGlobalIPSettings{DnsServerList: n.Nameservers, DnsSuffixList: n.SearchDomains}}
	switch {
	case b.LinuxPrep != nil:
		path = "bootstrap.linuxPrep"
		spec.Options = &types.CustomizationLinuxOptions{}
		spec.Identity = &types.CustomizationLinuxPrep{
			HostName: &types.CustomizationFixedName{Name: computerName(want)}, Domain: n.DomainName,
			TimeZone: b.LinuxPrep.TimeZone, HwClockUTC: b.LinuxPrep.HardwareClockIsUTC,
		}
	case b.Sysprep != nil && want.Data != nil:
		path = sysprepPath
		// A false value is an error since Windows Vista.
		spec.Options = &types.CustomizationWinOptions{ChangeSID: true, Reboot: types.CustomizationSysprepRebootOptionReboot}
		spec.Identity = sysprep(want)
	default:
		return nil, ""
	}
	if n.Disabled {
		return spec, path
	}
	for _, i := range n.Interfaces {
		spec.NicSettingMap = append(spec.NicSettingMap, types.CustomizationAdapterMapping{Adapter: adapter(i, n)})
	}
	return spec, path
}

// computerName is the name that the guest gives itself.
func computerName(want Want) string {
	if n := want.Effective.Network; n != nil && n.HostName != "" {
		return n.HostName
	}
	// A host name has no dots; what follows the first is the domain.
	host, _, _ := strings.Cut(want.Owner.Key.Name, ".")
	return host
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
