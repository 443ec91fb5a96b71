// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// with adds settings to a VM.
func with(vm *mo.VirtualMachine, keysAndValues ...string) {
	for n := 0; n < len(keysAndValues); n += 2 {
		vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: keysAndValues[n], Value: keysAndValues[n+1]})
	}
}

// applied applies differences to a VM.
func applied(vm *mo.VirtualMachine, diffs []Difference) {
	for _, o := range Spec(diffs).ExtraConfig {
		set := o.GetOptionValue()
		kept := vm.Config.ExtraConfig[:0:0]
		for _, have := range vm.Config.ExtraConfig {
			if have.GetOptionValue().Key != set.Key {
				kept = append(kept, have)
			}
		}
		if set.Value != "" {
			kept = append(kept, set)
		}
		vm.Config.ExtraConfig = kept
	}
}

// guestData returns the decoded guestinfo values of a VM, and the keys in which Slipway records them.
func guestData(t *testing.T, vm *mo.VirtualMachine) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range vm.Config.ExtraConfig {
		key, value := o.GetOptionValue().Key, o.GetOptionValue().Value.(string)
		switch {
		case strings.HasSuffix(key, encodingSuffix):
			continue
		case observe.ExtraConfig(vm, key+encodingSuffix) == "base64":
			raw, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				t.Fatal(err)
			}
			value = string(raw)
		case !strings.HasPrefix(key, "guestinfo.") && key != observe.InstanceIDKey && key != observe.BootstrapRemovedKey:
			continue
		}
		out[key] = value
	}
	return out
}

func cloudInitOf(w *Desired) *vmv1alpha1.CloudInitBootstrap {
	ci := &vmv1alpha1.CloudInitBootstrap{}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: ci}
	return ci
}

func TestBootstrap_CloudInitGetsAllRequestedData(t *testing.T) {
	w, vm := want(), have()
	ci := cloudInitOf(&w)
	ci.SSHAuthorizedKeys, ci.InstanceID = []string{"ssh-ed25519 AAAA me"}, "first"
	ci.RawNetworkConfig = &vmv1alpha1.SecretKeySelector{Name: "net"}
	w.Effective.Network.Interfaces[0].Addresses = []string{"192.0.2.5/24"}
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config"), VendorData: []byte("vendor"), NetworkConfig: []byte(`{"version":2,"ethernets":{}}`)}
	w.New = true
	applied(vm, Differences(w, vm))
	if diff := cmp.Diff(map[string]string{
		metadataKey:         `{"instance-id":"first","local-hostname":"web","network":{"version":2,"ethernets":{}},"public-keys":["ssh-ed25519 AAAA me"]}`,
		observe.UserDataKey: "#cloud-config", observe.VendorDataKey: "vendor", observe.InstanceIDKey: "first",
	}, guestData(t, vm)); diff != "" {
		t.Errorf("the guestinfo values of the VM (-want +got):\n%s", diff)
	}
	w.New, w.Bootstrap = false, nil // Later reconciles do not read the Secret.
	if got := Differences(w, vm); len(got) > 0 {
		t.Errorf("differences afterwards = %+v, want none", got)
	}
	const want = "network.interfaces[eth0].addresses 192.0.2.5/24: replaced by bootstrap.cloudInit.rawNetworkConfig"
	if got := GuestNetwork(w, vm, nil, true); got.Status != "False" || got.Message != want {
		t.Errorf("GuestNetworkSynced = %s %q, want False with the addresses that the network configuration replaces", got.Status, got.Message)
	}
}

func TestBootstrap_NewInstanceIDIsSetOnlyWithItsData(t *testing.T) {
	w, vm := want(), have()
	ci := cloudInitOf(&w)
	with(vm, "guestinfo.local-ipv4", "192.0.2.9")
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("one")}
	w.New = true
	applied(vm, Differences(w, vm))
	w.New, w.Bootstrap = false, nil

	ci.InstanceID = "again"
	if got := Differences(w, vm); len(got) > 0 {
		t.Errorf("without the data of the Secrets: %+v, want no change", got)
	}
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("two")}
	diffs := Differences(w, vm)
	for _, d := range diffs {
		if !d.Live || !d.FirstBoot {
			t.Errorf("%+v: want a live change that needs no restart", d)
		}
	}
	applied(vm, diffs)
	if diff := cmp.Diff(map[string]string{
		metadataKey: `{"instance-id":"again","local-hostname":"web"}`, observe.UserDataKey: "two", observe.InstanceIDKey: "again",
	}, guestData(t, vm)); diff != "" {
		t.Errorf("the guestinfo values of the VM (-want +got):\n%s", diff)
	}
	w.Bootstrap = nil
	if got := Differences(w, vm); len(got) > 0 {
		t.Errorf("differences afterwards = %+v, want none", got)
	}
}

func TestBootstrap_DataIsRemovedAfterTheGuestHasReadIt(t *testing.T) {
	tools := func(vm *mo.VirtualMachine) {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		vm.Guest = &types.GuestInfo{ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)}
	}
	ignition := func(w *Desired, vm *mo.VirtualMachine) {
		w.Effective.Bootstrap.CloudInit, w.Effective.Bootstrap.Ignition = nil, &vmv1alpha1.IgnitionBootstrap{}
		with(vm, observe.IgnitionKey, "secret", observe.IgnitionKey+encodingSuffix, "")
	}
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   bool
	}{
		{"cloud-init has reported nothing", func(*Desired, *mo.VirtualMachine) {}, false},
		{"Tools run, but cloud-init has not read its data", func(_ *Desired, vm *mo.VirtualMachine) { tools(vm) }, false},
		{"cloud-init has an address", func(_ *Desired, vm *mo.VirtualMachine) { with(vm, "guestinfo.local-ipv4", "192.0.2.9") }, true},
		{"cloud-init has an IPv6 address", func(_ *Desired, vm *mo.VirtualMachine) { with(vm, "guestinfo.local-ipv6", "fd00::9") }, true},
		{"the removal is not requested", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Bootstrap.RemoveAfterFirstBoot = false
			with(vm, "guestinfo.local-ipv4", "192.0.2.9")
		}, false},
		{"adopted", func(_ *Desired, vm *mo.VirtualMachine) {
			with(vm, "guestinfo.local-ipv4", "192.0.2.9", observe.AdoptedKey, "uid", observe.OwnerKey, "ns/web/uid")
		}, false},
		{"Ignition, off", func(w *Desired, vm *mo.VirtualMachine) { ignition(w, vm) }, false},
		{"Ignition, and Tools run", func(w *Desired, vm *mo.VirtualMachine) { ignition(w, vm); tools(vm) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			cloudInitOf(&w)
			w.Effective.Bootstrap.RemoveAfterFirstBoot = true
			with(vm, metadataKey, "m", observe.UserDataKey, "secret", observe.VendorDataKey, "secret")
			tc.change(&w, vm)
			var removes *Difference
			for _, d := range Differences(w, vm) {
				if d.Path == removePath {
					removes = &d
				}
			}
			if (removes != nil) != tc.want {
				t.Fatalf("removed: %t, want %t", removes != nil, tc.want)
			}
			if c := observe.BootstrapCondition(vm, "uid", w.Effective.Bootstrap); c.Status != "" && c.Status != "False" {
				t.Errorf("condition before = %+v", c)
			}
			if removes == nil {
				return
			}
			if !removes.Live || !removes.IsMetadata() {
				t.Errorf("%+v: want a live change, also with Stage", removes)
			}
			applied(vm, []Difference{*removes})
			for key, value := range guestData(t, vm) {
				if value == "secret" {
					t.Errorf("%s still exists", key)
				}
			}
			if observe.ExtraConfig(vm, metadataKey) == "" {
				t.Error("the metadata was removed, so cloud-init would treat the guest as a new instance")
			}
			if c := observe.BootstrapCondition(vm, "uid", w.Effective.Bootstrap); c.Status != "True" {
				t.Errorf("condition afterwards = %+v, want True", c)
			}
			// The data of Secrets that are read again, for example for a missing VM, must not be set again.
			w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("secret"), Ignition: []byte("secret")}
			applied(vm, Differences(w, vm))
			if got := guestData(t, vm); got[observe.UserDataKey]+got[observe.IgnitionKey] != "" {
				t.Errorf("the data was set again: %q", got)
			}
		})
	}
}

func TestBootstrap_IgnitionGetsItsConfiguration(t *testing.T) {
	w := want()
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Ignition: &vmv1alpha1.IgnitionBootstrap{}}
	w.Bootstrap = &provider.BootstrapData{Ignition: []byte(strings.Repeat(`{"ignition":{"version":"3.4.0"}}`, 4000))}
	vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{}}
	applied(vm, Differences(w, &mo.VirtualMachine{}))
	if e := observe.ExtraConfig(vm, observe.IgnitionKey+encodingSuffix); e != "gzip+base64" || observe.ExtraConfig(vm, observe.IgnitionKey) == "" {
		t.Errorf("encoding %q, want a long value compressed", e)
	}
}

func TestRefused_RejectsTooLongMetadata(t *testing.T) {
	w, vm := want(), have()
	ci := cloudInitOf(&w)
	ci.RawNetworkConfig = &vmv1alpha1.SecretKeySelector{Name: "net"}
	random := noise(70_000)
	config, err := json.Marshal(map[string]any{"version": 2, "x": random})
	if err != nil {
		t.Fatal(err)
	}
	w.Bootstrap = &provider.BootstrapData{NetworkConfig: config}
	if got := Refused(w, vm).Invalid; len(got) != 1 || !strings.HasPrefix(got[0], "bootstrap.cloudInit: the metadata") {
		t.Errorf("refused = %.200q, want the metadata", got)
	}
}

// noise returns text that cannot be compressed.
func noise(n int) string {
	out, state := make([]byte, n), uint32(1)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = byte(' ' + state%95)
	}
	return string(out)
}

func TestCustomization_WindowsUsesAnswersOrFile(t *testing.T) {
	w := want()
	w.Effective.Network.HostName, w.Effective.Network.Interfaces[0].Addresses = "WEB-1", []string{"192.0.2.5/24"}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: &vmv1alpha1.SecretKeySelector{Name: "s"}}}
	if got, _ := Customization(w); got != nil {
		t.Errorf("customization without the Secret's data: %+v", got)
	}
	w.Bootstrap = &provider.BootstrapData{Sysprep: provider.SysprepData{
		Unattend: "<unattend/>", ProductKey: "KEY", AdministratorPassword: "admin", DomainPassword: "join"}}
	got, path := Customization(w)
	if diff := cmp.Diff(&types.CustomizationSysprepText{Value: "<unattend/>"}, got.Identity); path != sysprepPath || diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
	if o, ok := got.Options.(*types.CustomizationWinOptions); !ok || !o.ChangeSID {
		t.Errorf("options = %+v, want another SID: false is an error", got.Options)
	}
	if ip, ok := got.NicSettingMap[0].Adapter.Ip.(*types.CustomizationFixedIp); !ok || ip.IpAddress != "192.0.2.5" {
		t.Errorf("adapter = %+v", got.NicSettingMap[0].Adapter)
	}
	w.Effective.Bootstrap.Sysprep = &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{
		FullName: "Me", Organization: "Us", AutoLogonCount: 2, TimeZone: ptr(int32(110)), RunOnce: []string{"setup"},
		Domain: &vmv1alpha1.SysprepDomain{Name: "example.org", User: "join", OrganizationalUnit: "OU=Servers"},
	}}
	got, _ = Customization(w)
	if diff := cmp.Diff(&types.CustomizationSysprep{
		GuiUnattended: types.CustomizationGuiUnattended{Password: &types.CustomizationPassword{Value: "admin", PlainText: true}, TimeZone: 110, AutoLogon: true, AutoLogonCount: 2},
		UserData:      types.CustomizationUserData{FullName: "Me", OrgName: "Us", ComputerName: &types.CustomizationFixedName{Name: "WEB-1"}, ProductId: "KEY"},
		GuiRunOnce:    &types.CustomizationGuiRunOnce{CommandList: []string{"setup"}},
		Identification: types.CustomizationIdentification{JoinDomain: "example.org", DomainAdmin: "join", DomainOU: "OU=Servers",
			DomainAdminPassword: &types.CustomizationPassword{Value: "join", PlainText: true}},
	}, got.Identity); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.Bootstrap, w.Effective.Bootstrap.Sysprep.Answers = &provider.BootstrapData{}, &vmv1alpha1.SysprepAnswers{FullName: "Me", Organization: "Us"}
	got, _ = Customization(w)
	if diff := cmp.Diff(&types.CustomizationSysprep{
		GuiUnattended:  types.CustomizationGuiUnattended{TimeZone: 85},
		UserData:       types.CustomizationUserData{FullName: "Me", OrgName: "Us", ComputerName: &types.CustomizationFixedName{Name: "WEB-1"}},
		Identification: types.CustomizationIdentification{JoinWorkgroup: "WORKGROUP"},
	}, got.Identity); diff != "" {
		t.Errorf("with names only (-want +got):\n%s", diff)
	}
}
