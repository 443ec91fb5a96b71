// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

// envelope returns a descriptor whose virtual system has the sections.
func envelope(sections string) string {
	return `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf">` +
		sections + `</Envelope>`
}

const hardware = `<OperatingSystemSection ovf:id="101" vmw:osType="ubuntu64Guest"><Info/></OperatingSystemSection>
<VirtualHardwareSection ovf:transport="iso com.vmware.guestInfo"><Info/>
  <System><vssd:ElementName>x</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID><vssd:VirtualSystemType>vmx-9 vmx-19,vmx-10</vssd:VirtualSystemType></System>
  <Item><rasd:ElementName>a device of the future</rasd:ElementName><rasd:InstanceID>9</rasd:InstanceID><rasd:ResourceType>5</rasd:ResourceType><rasd:Address>zero</rasd:Address></Item>
  <vmw:Config vmw:key="firmware" vmw:value="efi"/>
  <vmw:Config vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="true"/>
  <vmw:Config vmw:key="memoryHotAddEnabled" vmw:value="true"/>
  <vmw:ExtraConfig vmw:key="guestinfo.vendor" vmw:value="acme"/>
  <vmw:ExtraConfig vmw:key="slipway.paused" vmw:value="TRUE"/>
  <vmw:ExtraConfig vmw:key="disk.EnableUUID" vmw:value="FALSE"/>
</VirtualHardwareSection>`

const product = `<ProductSection><Info/><Property ovf:key="password" ovf:type="string" ovf:userConfigurable="true" ovf:value="x"><Label>Password</Label></Property></ProductSection>`

func TestParse_ReadsAllSettingsExceptDevices(t *testing.T) {
	got, err := parse(strings.NewReader(envelope(`<VirtualSystem ovf:id="ubuntu"><Info/>` + product + hardware + `</VirtualSystem>`)))
	if err != nil {
		t.Fatal(err)
	}
	want := types.VirtualMachineConfigSpec{
		GuestId: "ubuntu64Guest", Version: "vmx-19", Firmware: "efi", MemoryHotAddEnabled: types.NewBool(true),
		BootOptions: &types.VirtualMachineBootOptions{EfiSecureBootEnabled: types.NewBool(true)},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "disk.EnableUUID", Value: "FALSE"}},
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if got.VApp == nil || len(got.VApp.Property) != 1 || got.VApp.Property[0].Info.Id != "password" || got.VApp.Property[0].Info.Label != "Password" {
		t.Fatalf("OVF properties = %+v, want the password", got.VApp)
	}
	if diff := cmp.Diff([]string{"iso", "com.vmware.guestInfo"}, got.VApp.OvfEnvironmentTransport); diff != "" {
		t.Errorf("transport (-want +got):\n%s", diff)
	}
}

func TestParse_AcceptsACollectionOfOneVM(t *testing.T) {
	got, err := parse(strings.NewReader(envelope(`<VirtualSystemCollection ovf:id="all"><Info/>` + product +
		`<VirtualSystem ovf:id="one"><Info/>` + hardware + `</VirtualSystem></VirtualSystemCollection>`)))
	if err != nil || got.Config.Firmware != "efi" || got.VApp == nil {
		t.Errorf("got %+v, %v; want the virtual machine, with the properties of the collection", got, err)
	}
}

func TestParse_ReturnsUnusableErrors(t *testing.T) {
	one := `<VirtualSystem ovf:id="one"><Info/>` + hardware + `</VirtualSystem>`
	for name, tc := range map[string]struct{ text, want string }{
		"invalid XML": {"MZ", "cannot be parsed"},
		"several VMs": {envelope(`<VirtualSystemCollection ovf:id="all"><Info/>` + one + one + `</VirtualSystemCollection>`), "exactly one"},
		"no VM":       {envelope(""), "exactly one"},
		"too large":   {envelope(one + `<!--` + strings.Repeat("x", maxSize) + `-->`), "more than 4194304 bytes"},
	} {
		var unusable *UnusableError
		if _, err := parse(strings.NewReader(tc.text)); !errors.As(err, &unusable) || !strings.Contains(unusable.Message, tc.want) {
			t.Errorf("%s: %v, want a message with %q", name, err, tc.want)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestParse_ReturnsNoUnusableErrorForAFailedDownload(t *testing.T) {
	var unusable *UnusableError
	if _, err := parse(broken{}); err == nil || errors.As(err, &unusable) {
		t.Errorf("error %v, want an error that is not an UnusableError", err)
	}
}

func TestNewest_ReturnsTheNewestHardwareVersion(t *testing.T) {
	for list, want := range map[string]string{
		"vmx-19": "vmx-19", "vmx-07 vmx-08": "vmx-08", "vmx-9 vmx-13": "vmx-13", "virtualbox-2.2": "", "": "", "xen-3 vmx-10": "vmx-10", "vmx-99999": "",
	} {
		if got := newest(list); got != want {
			t.Errorf("newest of %q = %q, want %q", list, got, want)
		}
	}
}

func TestComplete_KeepsRequestedSettings(t *testing.T) {
	image := &Image{Config: types.VirtualMachineConfigSpec{
		GuestId: "ubuntu64Guest", Firmware: "efi", Version: "vmx-19", NumCPUs: 1,
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.vendor", Value: "acme"}, &types.OptionValue{Key: "disk.EnableUUID", Value: "FALSE"}},
	}}
	before := image.Config
	asked := types.VirtualMachineConfigSpec{Name: "web", NumCPUs: 4, GuestId: "otherLinux64Guest",
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "disk.enableUUID", Value: "TRUE"}}}
	want := types.VirtualMachineConfigSpec{Name: "web", NumCPUs: 4, GuestId: "otherLinux64Guest", Firmware: "efi", Version: "vmx-19",
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.vendor", Value: "acme"}, &types.OptionValue{Key: "disk.enableUUID", Value: "TRUE"}}}
	if diff := cmp.Diff(want, image.Complete(asked)); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, image.Config); diff != "" {
		t.Errorf("the image was changed (-before +after):\n%s", diff)
	}
}
