// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestCustomization_HasEachAdapterInOrder(t *testing.T) {
	w := want()
	if got, _ := Customization(w); got != nil {
		t.Errorf("customization without linuxPrep = %+v, want none", got)
	}
	w.Identity.Key.Name = "web.example"
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{
		LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{TimeZone: "Europe/Berlin", HardwareClockIsUTC: ptr(true)}}
	w.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{
		DomainName: "example.org", Nameservers: []string{"192.0.2.53"}, SearchDomains: []string{"example.org"},
		Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{
			{Name: "eth0"},
			{Name: "eth1", Addresses: []string{"192.0.2.5/23", "2001:db8::5/64"}, Gateway4: "192.0.2.1", Gateway6: "2001:db8::1"},
		},
	}
	dns, domain := []string{"192.0.2.53"}, "example.org"
	wantSpec := &types.CustomizationSpec{
		Options: &types.CustomizationLinuxOptions{},
		Identity: &types.CustomizationLinuxPrep{HostName: &types.CustomizationFixedName{Name: "web"}, Domain: "example.example.org",
			TimeZone: "Europe/Berlin", HwClockUTC: ptr(true)},
		GlobalIPSettings: types.CustomizationGlobalIPSettings{DnsServerList: dns, DnsSuffixList: []string{domain}},
		NicSettingMap: []types.CustomizationAdapterMapping{
			{Adapter: types.CustomizationIPSettings{Ip: &types.CustomizationDhcpIpGenerator{}, DnsServerList: dns, DnsDomain: domain}},
			{Adapter: types.CustomizationIPSettings{Ip: &types.CustomizationFixedIp{IpAddress: "192.0.2.5"}, SubnetMask: "255.255.254.0",
				Gateway: []string{"192.0.2.1"}, DnsServerList: dns, DnsDomain: domain,
				IpV6Spec: &types.CustomizationIPSettingsIpV6AddressSpec{Gateway: []string{"2001:db8::1"},
					Ip: []types.BaseCustomizationIpV6Generator{&types.CustomizationFixedIpV6{IpAddress: "2001:db8::5", SubnetMask: 64}}}}},
		},
	}
	got, path := Customization(w)
	if diff := cmp.Diff(wantSpec, got); path != "bootstrap.linuxPrep" || diff != "" {
		t.Errorf("customization (-want +got):\n%s", diff)
	}
	w.Effective.Network.Disabled = true
	if got, _ := Customization(w); got.NicSettingMap != nil {
		t.Errorf("adapters of a VM without network = %v, want none", got)
	}
}

func TestVApp_PropertiesKeepTheirKeys(t *testing.T) {
	w, vm := want(), have()
	vm.Config.VAppConfig = &types.VmConfigInfo{Property: []types.VAppPropertyInfo{
		{Key: 3, Id: "user", Value: "old", Label: "User"}, {Key: 7, ClassId: "net", Id: "dns", InstanceId: "1", Value: "192.0.2.53"},
	}}
	w.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"user": "new", "net.dns.1": "192.0.2.53", "other": "x"}}
	diffs := Differences(w, vm)
	if len(diffs) != 1 || diffs[0].Path != "bootstrap.vAppConfig" || diffs[0].Desired != "changed" || !diffs[0].FirstBoot {
		t.Fatalf("differences = %+v, want one that shows no value and needs no restart", diffs)
	}
	got := Spec(diffs).VAppConfig.GetVmConfigSpec()
	wantSpec := &types.VmConfigSpec{
		OvfEnvironmentTransport: []string{"com.vmware.guestInfo"},
		Property: []types.VAppPropertySpec{
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
				Info: &types.VAppPropertyInfo{Key: 8, Id: "other", Label: "other", Type: "string", Value: "x", UserConfigurable: ptr(true)}},
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
				Info: &types.VAppPropertyInfo{Key: 3, Id: "user", Label: "User", Value: "new"}},
		},
	}
	if diff := cmp.Diff(wantSpec, got); diff != "" {
		t.Errorf("vApp configuration (-want +got):\n%s", diff)
	}
}

func TestDifferences_NewVMIsMarkedUntilItIsComplete(t *testing.T) {
	w := want()
	w.Attempt = "attempt"
	marked := have()
	marked.Config.ExtraConfig = append(marked.Config.ExtraConfig, &types.OptionValue{Key: observe.PendingKey, Value: "attempt"})
	for _, tc := range []struct {
		name string
		vm   *mo.VirtualMachine
		done bool
		want []string
	}{
		{"created", &mo.VirtualMachine{}, false, []string{"attempt"}},
		{"not done", marked, false, nil},
		{"done", marked, true, []string{""}},
		{"never marked", have(), true, nil},
	} {
		w.Bootstrapped = tc.done
		var got []string
		for _, o := range Spec(Differences(w, tc.vm)).ExtraConfig {
			if o.GetOptionValue().Key == observe.PendingKey {
				got = append(got, o.GetOptionValue().Value.(string))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: mark (-want +got):\n%s", tc.name, diff)
		}
	}
}
