// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// diskItem returns the hardware item of a disk.
func diskItem(label, host, attributes string) string {
	return `<Item ` + attributes + `><rasd:ElementName>` + label + `</rasd:ElementName><rasd:HostResource>` + host +
		`</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:ResourceType>17</rasd:ResourceType></Item>`
}

// system returns a descriptor of one virtual machine.
func system(disks, networks, properties, items string) string {
	return envelope(`<DiskSection><Info/>` + disks + `</DiskSection><NetworkSection><Info/>` + networks + `</NetworkSection>
<VirtualSystem ovf:id="one"><Info/><ProductSection ovf:class="com.acme" ovf:instance="1"><Info/>` + properties + `</ProductSection>` +
		strings.Replace(hardware, `<vmw:Config vmw:key="firmware"`, items+`<vmw:Config vmw:key="firmware"`, 1) + `</VirtualSystem>`)
}

func TestParse_DescribesADescriptor(t *testing.T) {
	got, err := parse(strings.NewReader(system(
		`<Disk ovf:diskId="b" ovf:capacity="5" ovf:capacityAllocationUnits="byte * 2^30"/><Disk ovf:diskId="a" ovf:capacity="1024"/><Disk ovf:diskId="unused" ovf:capacity="1"/>`,
		`<Network ovf:name="nic0"/><Network ovf:name="nic1"/>`,
		`<Property ovf:key="password" ovf:type="string" ovf:password="true" ovf:qualifiers="MinLen(8)" ovf:userConfigurable="true" ovf:value=""><Label>Password</Label></Property>
<Property ovf:key="secret" ovf:type="string" ovf:password="true" ovf:userConfigurable="true" ovf:value="hunter2"/>
<Property ovf:key="mode" ovf:type="string" ovf:userConfigurable="true" ovf:value="dhcp"><Description>How to get addresses</Description></Property>
<Property ovf:key="own" ovf:type="boolean" ovf:value="true"/>
<Property ovf:key="serial" ovf:type="string" ovf:qualifiers="MinLen(1)" ovf:value=""/>`,
		diskItem("Hard disk 1", "ovf:/disk/a", "")+diskItem("Hard disk 2", "/disk/b", "")+diskItem("Hard disk 3", "ovf:/disk/none", "")+
			diskItem("of a deployment option", "ovf:/disk/b", `ovf:configuration="large"`))))
	if err != nil {
		t.Fatal(err)
	}
	secure := true
	want := vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeOVF, GuestID: "ubuntu64Guest", Firmware: vmv1alpha1.BootloaderEFI, SecureBoot: &secure, HardwareVersion: 19,
		Disks: []vmv1alpha1.VirtualMachineImageDisk{
			{Name: "Hard disk 1", Capacity: resource.NewQuantity(1024, resource.BinarySI)},
			{Name: "Hard disk 2", Capacity: resource.NewQuantity(5<<30, resource.BinarySI)},
			{Name: "Hard disk 3"},
		},
		Networks: []string{"nic0", "nic1"},
		Properties: []vmv1alpha1.VirtualMachineImageProperty{
			{Key: "com.acme.password.1", Type: "password(8..)", Label: "Password", Required: true, UserConfigurable: true},
			{Key: "com.acme.secret.1", Type: "password", UserConfigurable: true},
			{Key: "com.acme.mode.1", Type: "string", Description: "How to get addresses", Default: "dhcp", UserConfigurable: true},
			{Key: "com.acme.own.1", Type: "boolean", Default: "True"},
			{Key: "com.acme.serial.1", Type: "string(1..)"},
		},
	}
	if diff := cmp.Diff(want, got.Description.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.Description.Incomplete != "" {
		t.Errorf("incomplete: %s", got.Description.Incomplete)
	}
}

func TestParse_OmitsAnInvalidCapacity(t *testing.T) {
	for attributes, want := range map[string]string{
		`ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30"`:         "16Gi",
		`ovf:capacity="${size}" ovf:capacityAllocationUnits="byte * 2^20"`:    "7Mi",
		`ovf:capacity="${nothing}" ovf:capacityAllocationUnits="byte * 2^20"`: "",
		`ovf:capacity=""`:     "",
		`ovf:capacity="-5"`:   "",
		`ovf:capacity="many"`: "",
		`ovf:capacity="9223372036854775807" ovf:capacityAllocationUnits="byte * 2^30"`:   "",
		`ovf:capacity="1" ovf:capacityAllocationUnits="furlongs"`:                        "",
		`ovf:capacity="1" ovf:capacityAllocationUnits="byte * 99999999999 * 9999999999"`: "",
	} {
		text := system(`<Disk ovf:diskId="a" `+attributes+`/>`, "", "", diskItem("disk", "ovf:/disk/a", ""))
		text = strings.Replace(text, `ovf:class="com.acme" ovf:instance="1"><Info/>`, `><Info/><Property ovf:key="size" ovf:type="uint32" ovf:value="7"/>`, 1)
		got, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", attributes, err)
		}
		capacity := ""
		if q := got.Description.Status.Disks[0].Capacity; q != nil {
			capacity = q.String()
		}
		if capacity != want {
			t.Errorf("%s: capacity %q, want %q", attributes, capacity, want)
		}
	}
}

// Descriptor values are copied to the status of an object of at most a megabyte, and are printed on terminals.
func TestParse_LimitsTheDescriptionOfAHostileDescriptor(t *testing.T) {
	var disks, networks, properties, items strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&disks, `<Disk ovf:diskId="d%d" ovf:capacity="1"/>`, i)
		fmt.Fprintf(&networks, `<Network ovf:name="n%d"/>`, i)
		items.WriteString(diskItem(strings.Repeat("ä", 500), fmt.Sprintf("ovf:/disk/d%d", i), ""))
		fmt.Fprintf(&properties, `<Property ovf:key="p%d" ovf:type="string" ovf:value="%s"><Label>%[2]s</Label><Description>%[2]s</Description></Property>`, i, strings.Repeat("ä", 200))
	}
	got, err := parse(strings.NewReader(system(disks.String(), networks.String(), properties.String(), items.String())))
	if err != nil {
		t.Fatal(err)
	}
	s := &got.Description.Status
	if len(s.Disks) != maxDisks || len(s.Networks) != maxNetworks || len(s.Properties) != maxProperties {
		t.Errorf("%d disks, %d networks, %d properties; want %d, %d, %d", len(s.Disks), len(s.Networks), len(s.Properties), maxDisks, maxNetworks, maxProperties)
	}
	if n := s.Size(); n > 512<<10 {
		t.Errorf("the status has %d bytes, want less than half of the maximum object size", n)
	}
	if want := "744 disks and 936 networks and 744 properties are not listed"; !strings.HasPrefix(got.Description.Incomplete, want) {
		t.Errorf("incomplete: %q, want that %s", got.Description.Incomplete, want)
	}
}

func TestParse_OmitsInvalidNames(t *testing.T) {
	for name, tc := range map[string]struct{ properties, want string }{
		"long key":       {`<Property ovf:key="` + strings.Repeat("k", 300) + `" ovf:type="string"/>`, "1 properties"},
		"reversing key":  {`<Property ovf:key="a&#x202e;b" ovf:type="string"/>`, "1 properties"},
		"the same twice": {`<Property ovf:key="a" ovf:type="string"/><Property ovf:key="a" ovf:type="string"/>`, "1 properties"},
	} {
		got, err := parse(strings.NewReader(system("", "", tc.properties, "")))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.HasPrefix(got.Description.Incomplete, tc.want) {
			t.Errorf("%s: incomplete %q, want %s", name, got.Description.Incomplete, tc.want)
		}
	}
}

func TestParse_RemovesControlCharactersFromTexts(t *testing.T) {
	got, err := parse(strings.NewReader(system("", "", `<Property ovf:key="a" ovf:type="string"><Label>x&#x202e;y</Label><Description>a
b</Description></Property>`, "")))
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Description.Status.Properties[0]; p.Label != "x\ufffdy" || p.Description != "a\nb" {
		t.Errorf("label %q, description %q", p.Label, p.Description)
	}
}

func TestOfTemplate_DescribesATemplate(t *testing.T) {
	got := DescribeTemplate(&types.VirtualMachineConfigInfo{
		ChangeVersion: "7", GuestId: "ubuntu64Guest", Version: "vmx-19", Firmware: "bios",
		Hardware: types.VirtualHardware{Device: []types.BaseVirtualDevice{
			&types.ParaVirtualSCSIController{},
			&types.VirtualDisk{CapacityInKB: 1 << 20, VirtualDevice: types.VirtualDevice{DeviceInfo: &types.Description{Label: "Hard disk 1"}}},
			onNetwork(&types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}),
			onNetwork(&types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}),
			onNetwork(&types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: "dvportgroup-1"}}),
		}},
		VAppConfig: &types.VmConfigInfo{Property: []types.VAppPropertyInfo{{Id: "hostname", Type: "string", UserConfigurable: types.NewBool(true)}}},
	}, map[string]string{"dvportgroup-1": "prod"})
	want := vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeTemplate, ContentVersion: "7", GuestID: "ubuntu64Guest", Firmware: vmv1alpha1.BootloaderBIOS, HardwareVersion: 19,
		Disks:      []vmv1alpha1.VirtualMachineImageDisk{{Name: "Hard disk 1", Capacity: resource.NewQuantity(1<<30, resource.BinarySI)}},
		Networks:   []string{"VM Network", "prod"},
		Properties: []vmv1alpha1.VirtualMachineImageProperty{{Key: "hostname", Type: "string", UserConfigurable: true}},
	}
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// onNetwork returns an adapter.
func onNetwork(backing types.BaseVirtualDeviceBackingInfo) types.BaseVirtualDevice {
	return &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
		VirtualDevice: types.VirtualDevice{Backing: backing},
	}}}
}
