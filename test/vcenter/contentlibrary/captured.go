// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"cmp"
	"fmt"
	"html"
	"strings"

	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
)

// describe returns the OVF descriptor of a virtual machine: name, description, size, guest, firmware, disks on one
// controller, adapters, and OVF properties. Flags add more data.
func describe(config *types.VirtualMachineConfigInfo, req *vcenter.OVF) string {
	name, esc := cmp.Or(req.Spec.Name, config.Name), html.EscapeString
	var files, disks, items, hardware, products strings.Builder
	id := 10
	next := func() int { id++; return id }
	unit := 0
	for _, d := range config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualDisk:
			unit++
			fmt.Fprintf(&files, `<File ovf:href="%s-disk%d.vmdk" ovf:id="file%d" ovf:size="60"/>`, esc(name), unit, unit)
			fmt.Fprintf(&disks, `<Disk ovf:capacity="%d" ovf:capacityAllocationUnits="byte" ovf:diskId="disk%d" ovf:fileRef="file%d" ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>`,
				d.CapacityInKB<<10, unit, unit)
			fmt.Fprintf(&items, `<Item><rasd:AddressOnParent>%d</rasd:AddressOnParent><rasd:ElementName>Hard disk %d</rasd:ElementName><rasd:HostResource>ovf:/disk/disk%d</rasd:HostResource><rasd:InstanceID>%d</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>`,
				unit-1, unit, unit, next())
		case types.BaseVirtualEthernetCard:
			mac := ""
			if asks(req, "PRESERVE_MAC") {
				mac = "<rasd:Address>" + d.GetVirtualEthernetCard().MacAddress + "</rasd:Address>"
			}
			fmt.Fprintf(&items, `<Item>%s<rasd:AutomaticAllocation>true</rasd:AutomaticAllocation><rasd:Connection>nic0</rasd:Connection><rasd:ElementName>Network adapter</rasd:ElementName><rasd:InstanceID>%d</rasd:InstanceID><rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType></Item>`,
				mac, next())
		}
	}
	fmt.Fprintf(&hardware, `<vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="%s"/>`, esc(config.Firmware))
	if asks(req, "EXTRA_CONFIG") {
		for _, o := range config.ExtraConfig {
			option := o.GetOptionValue()
			fmt.Fprintf(&hardware, `<vmw:ExtraConfig ovf:required="false" vmw:key="%s" vmw:value="%s"/>`, esc(option.Key), esc(fmt.Sprint(option.Value)))
		}
	}
	if v := config.VAppConfig; v != nil {
		products.WriteString(`<ProductSection ovf:required="false"><Info>Properties</Info>`)
		for _, p := range v.GetVmConfigInfo().Property {
			fmt.Fprintf(&products, `<Property ovf:key="%s" ovf:type="string" ovf:userConfigurable="true" ovf:value="%s"/>`, esc(p.Id), esc(cmp.Or(p.Value, p.DefaultValue)))
		}
		products.WriteString(`</ProductSection>`)
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf">
<References>%s</References><DiskSection><Info>The disks</Info>%s</DiskSection>
<NetworkSection><Info>The networks</Info><Network ovf:name="nic0"><Description>The network</Description></Network></NetworkSection>
<VirtualSystem ovf:id="%s"><Info>A virtual machine</Info><Name>%s</Name>
<AnnotationSection><Info>A description</Info><Annotation>%s</Annotation></AnnotationSection>
<OperatingSystemSection ovf:id="1" vmw:osType="%s"><Info>The guest</Info></OperatingSystemSection>
<VirtualHardwareSection><Info>The hardware</Info>
<System><vssd:ElementName>Virtual Hardware Family</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID><vssd:VirtualSystemIdentifier>%s</vssd:VirtualSystemIdentifier><vssd:VirtualSystemType>%s</vssd:VirtualSystemType></System>
<Item><rasd:ElementName>CPUs</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>%d</rasd:VirtualQuantity></Item>
<Item><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>Memory</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>%d</rasd:VirtualQuantity></Item>
<Item><rasd:Address>0</rasd:Address><rasd:ElementName>SCSI controller 0</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
%s%s</VirtualHardwareSection>%s</VirtualSystem></Envelope>
`, files.String(), disks.String(), esc(name), esc(name), esc(cmp.Or(req.Spec.Description, config.Annotation)), esc(strings.TrimSuffix(config.GuestId, "Guest"))+"Guest", esc(name), esc(config.Version),
		config.Hardware.NumCPU, config.Hardware.MemoryMB, items.String(), hardware.String(), products.String())
}
