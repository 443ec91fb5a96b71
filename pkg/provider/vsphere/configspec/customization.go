// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"cmp"
	"net"
	"net/netip"

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
	host, domain := hostName(want)
	spec = &types.CustomizationSpec{GlobalIPSettings: types.CustomizationGlobalIPSettings{DnsServerList: n.Nameservers, DnsSuffixList: n.SearchDomains}}
	switch {
	case b.LinuxPrep != nil:
		path = linuxPrepPath
		spec.Options = &types.CustomizationLinuxOptions{}
		spec.Identity = &types.CustomizationLinuxPrep{
			HostName: &types.CustomizationFixedName{Name: host}, Domain: domain,
			TimeZone: b.LinuxPrep.TimeZone, HwClockUTC: b.LinuxPrep.HardwareClockIsUTC,
		}
	case b.Sysprep != nil && want.Bootstrap != nil:
		path = sysprepPath
		// A false value is an error since Windows Vista.
		spec.Options = &types.CustomizationWinOptions{ChangeSID: true, Reboot: types.CustomizationSysprepRebootOptionReboot}
		spec.Identity = sysprep(want, host)
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

const (
	linuxPrepPath = "bootstrap.linuxPrep"
	sysprepPath   = "bootstrap.sysprep"
	// greenwich is the index of GMT Standard Time.
	greenwich = 85
	workgroup = "WORKGROUP"
)

// sysprep is the answer file, or what vSphere makes one of.
func sysprep(want Want, host string) types.BaseCustomizationIdentitySettings {
	secret := want.Bootstrap.Sysprep
	a := want.Effective.Bootstrap.Sysprep.Answers
	if a == nil {
		return &types.CustomizationSysprepText{Value: secret.Unattend}
	}
	out := &types.CustomizationSysprep{
		GuiUnattended: types.CustomizationGuiUnattended{
			Password: password(secret.AdministratorPassword), TimeZone: greenwich,
			AutoLogon: a.AutoLogonCount > 0, AutoLogonCount: a.AutoLogonCount,
		},
		UserData: types.CustomizationUserData{
			FullName: a.FullName, OrgName: a.Organization, ProductId: secret.ProductKey,
			ComputerName: &types.CustomizationFixedName{Name: host},
		},
	}
	if a.TimeZone != nil {
		out.GuiUnattended.TimeZone = *a.TimeZone
	}
	if d := a.Domain; d != nil {
		out.Identification = types.CustomizationIdentification{
			JoinDomain: d.Name, DomainAdmin: d.User, DomainAdminPassword: password(secret.DomainPassword), DomainOU: d.OrganizationalUnit,
		}
	} else {
		out.Identification.JoinWorkgroup = cmp.Or(a.Workgroup, workgroup)
	}
	if len(a.RunOnce) > 0 {
		out.GuiRunOnce = &types.CustomizationGuiRunOnce{CommandList: a.RunOnce}
	}
	return out
}

// password is one that vSphere does not decrypt; an empty one is none.
func password(text string) *types.CustomizationPassword {
	if text == "" {
		return nil
	}
	return &types.CustomizationPassword{Value: text, PlainText: true}
}
