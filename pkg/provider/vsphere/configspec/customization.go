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

// Customization returns the guest customization of the first boot and the path of the field that requests it. It
// returns nil if the spec requests no customization. As vSphere requires, the customization has an entry for each
// adapter, in order.
func Customization(want Desired) (spec *types.CustomizationSpec, path string) {
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
		// ChangeSID must be true since Windows Vista.
		spec.Options = &types.CustomizationWinOptions{ChangeSID: true, Reboot: types.CustomizationSysprepRebootOptionReboot}
		spec.Identity = sysprep(want, host)
	default:
		return nil, ""
	}
	if n.Disabled {
		return spec, path
	}
	for _, i := range n.Interfaces {
		spec.NicSettingMap = append(spec.NicSettingMap, types.CustomizationAdapterMapping{Adapter: adapterSettings(i, n)})
	}
	return spec, path
}

// adapterSettings uses the interface's first IPv4 address and all IPv6 addresses. Refused reports more than one
// IPv4 address.
func adapterSettings(i vmv1alpha1.VirtualMachineNetworkInterface, n *vmv1alpha1.VirtualMachineNetworkSpec) types.CustomizationIPSettings {
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
	// gmtIndex is the index of GMT Standard Time in the list of Windows time zones.
	gmtIndex  = 85
	workgroup = "WORKGROUP"
)

// sysprep returns the answer file, or the answers from which vSphere generates one.
func sysprep(want Desired, host string) types.BaseCustomizationIdentitySettings {
	secret := want.Bootstrap.Sysprep
	a := want.Effective.Bootstrap.Sysprep.Answers
	if a == nil {
		return &types.CustomizationSysprepText{Value: secret.Unattend}
	}
	out := &types.CustomizationSysprep{
		GuiUnattended: types.CustomizationGuiUnattended{
			Password: password(secret.AdministratorPassword), TimeZone: gmtIndex,
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

// password returns a password in plain text. It returns nil if text is empty.
func password(text string) *types.CustomizationPassword {
	if text == "" {
		return nil
	}
	return &types.CustomizationPassword{Value: text, PlainText: true}
}
