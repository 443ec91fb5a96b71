// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// DescribeTemplate returns the image status of a template. networks are the names of its networks by managed object ID.
func DescribeTemplate(config *types.VirtualMachineConfigInfo, networks map[string]string) provider.ImageDescription {
	d := description{}
	d.Type = vmv1alpha1.ImageTypeTemplate
	d.ContentVersion = prose(config.ChangeVersion, maxName)
	d.config(config.GuestId, config.Version, config.Firmware, config.BootOptions)
	if v := config.VAppConfig; v != nil {
		for _, p := range v.GetVmConfigInfo().Property {
			d.property(&p)
		}
	}
	for _, device := range config.Hardware.Device {
		switch device := device.(type) {
		case *types.VirtualDisk:
			label := ""
			if info := device.DeviceInfo; info != nil {
				label = info.GetDescription().Label
			}
			d.disk(label, max(device.CapacityInBytes, device.CapacityInKB<<10))
		case types.BaseVirtualEthernetCard:
			d.network(networkOf(device, networks))
		}
	}
	return d.result()
}

// networkOf returns the name of an adapter's network. The key of a distributed port group is its managed object ID.
func networkOf(card types.BaseVirtualEthernetCard, networks map[string]string) string {
	switch b := card.GetVirtualEthernetCard().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return networks[b.Port.PortgroupKey]
	}
	return ""
}
