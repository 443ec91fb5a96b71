// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

var errNotFound = errors.New("not found")

// diskDescriptor reduces an OVF to its disks and their controllers: with a configuration "the OVF descriptor acts as
// a disk descriptor" (vSphere Automation API, Vcenter Ovf LibraryItem VmConfigSpec). vCenter uses its defaults for
// values that the configuration does not specify.
//
// VM Operator has found that the guest identifier comes from the OVF nevertheless. Clients must not rely on that.
func diskDescriptor(spec types.VirtualMachineConfigSpec) types.VirtualMachineConfigSpec {
	isPart := func(c types.BaseVirtualDeviceConfigSpec) bool {
		switch c.GetVirtualDeviceConfigSpec().Device.(type) {
		case *types.VirtualDisk, types.BaseVirtualSCSIController, *types.VirtualAHCIController, *types.VirtualNVMEController:
			return true
		}
		return false
	}
	return types.VirtualMachineConfigSpec{
		Version:      defaultVersion,
		DeviceChange: slices.DeleteFunc(spec.DeviceChange, func(c types.BaseVirtualDeviceConfigSpec) bool { return !isPart(c) }),
	}
}

// defaultVersion is the default hardware version of vSphere 8.0 Update 2 and later.
const defaultVersion = "vmx-21"

// configSpec applies the given configuration on top of the OVF, or of its disks. Network cards of the configuration
// replace those of the OVF.
func configSpec(envelope *ovf.Envelope, deploy *vcenter.Deploy, over *types.VirtualMachineConfigSpec,
	datastore string, networks map[string]types.BaseVirtualDeviceBackingInfo, disksOnly bool,
) (types.VirtualMachineConfigSpec, error) {
	spec, err := envelope.ToConfigSpec()
	if err != nil {
		return spec, fmt.Errorf("convert the OVF descriptor: %w", err)
	}
	keepTransport(envelope, &spec)
	if disksOnly {
		spec = diskDescriptor(spec)
	}
	if slices.ContainsFunc(over.DeviceChange, isCard) {
		spec.DeviceChange = slices.DeleteFunc(spec.DeviceChange, isCard)
	}
	place(spec.DeviceChange, datastore, networks, deploy.StorageProvisioning)
	setApart(spec.DeviceChange)
	rest := *over
	rest.Files = nil
	rest.DeviceChange = forget(over.DeviceChange)
	strict.Overlay(&spec, &rest)

	spec.Name = deploy.DeploymentSpec.Name
	if spec.Annotation == "" {
		spec.Annotation = deploy.Annotation
	}
	spec.Files = &types.VirtualMachineFileInfo{VmPathName: "[" + datastore + "]"}
	return spec, nil
}

// keepTransport keeps the transport of the OVF's properties to the guest, which the conversion drops.
func keepTransport(envelope *ovf.Envelope, spec *types.VirtualMachineConfigSpec) {
	if spec.VAppConfig == nil || envelope.VirtualSystem == nil {
		return
	}
	for _, hardware := range envelope.VirtualSystem.VirtualHardware {
		if hardware.Transport != nil {
			spec.VAppConfig.GetVmConfigSpec().OvfEnvironmentTransport = strings.Fields(*hardware.Transport)
		}
	}
}

func isCard(c types.BaseVirtualDeviceConfigSpec) bool {
	_, ok := c.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard)
	return ok
}

// forget drops changes of devices that are not additions, which a new virtual machine cannot have. vCenter applies
// them to the devices of the OVF, whose keys no client knows.
func forget(changes []types.BaseVirtualDeviceConfigSpec) []types.BaseVirtualDeviceConfigSpec {
	return slices.DeleteFunc(slices.Clone(changes), func(c types.BaseVirtualDeviceConfigSpec) bool {
		return c.GetVirtualDeviceConfigSpec().Operation != types.VirtualDeviceConfigSpecOperationAdd
	})
}

// place assigns a file on the datastore to each disk, and a network to each card. The deployment specifies how disks
// are provisioned: thin, thick or eagerZeroedThick (vSphere Automation API, Vcenter Ovf DiskProvisioningType).
func place(changes []types.BaseVirtualDeviceConfigSpec, datastore string, networks map[string]types.BaseVirtualDeviceBackingInfo, provisioning string) {
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		device := change.Device.GetVirtualDevice()
		switch change.Device.(type) {
		case *types.VirtualDisk:
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			device.Backing = &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[" + datastore + "]"},
				DiskMode:                     string(types.VirtualDiskModePersistent),
				ThinProvisioned:              types.NewBool(provisioning == "" || provisioning == "thin"),
				EagerlyScrub:                 types.NewBool(provisioning == "eagerZeroedThick"),
			}
			if device.UnitNumber == nil {
				device.UnitNumber = types.NewInt32(0)
			}
		case types.BaseVirtualEthernetCard:
			name := ""
			if b, ok := device.Backing.(*types.VirtualEthernetCardNetworkBackingInfo); ok {
				name = b.DeviceName
			}
			if device.Backing = networks[name]; device.Backing == nil {
				device.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
					VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: inventory.Network},
				}
			}
		}
	}
}

// keyOffset is far outside of the temporary keys that clients use.
const keyOffset = 100_000

// setApart moves the temporary keys of the OVF's devices away from those of the
// configuration, as both may start from the same number.
func setApart(changes []types.BaseVirtualDeviceConfigSpec) {
	for _, c := range changes {
		device := c.GetVirtualDeviceConfigSpec().Device.GetVirtualDevice()
		if device.Key < 0 {
			device.Key -= keyOffset
		}
		if device.ControllerKey < 0 {
			device.ControllerKey -= keyOffset
		}
	}
}

// networks resolves the mapping of OVF networks; a network that does not exist
// gets a backing that the creation refuses.
func (d *Deployer) networks(mappings []vcenter.NetworkMapping) map[string]types.BaseVirtualDeviceBackingInfo {
	backings := map[string]types.BaseVirtualDeviceBackingInfo{}
	for _, m := range mappings {
		backings[m.Key] = d.backing(m.Value)
	}
	return backings
}

func (d *Deployer) backing(id string) types.BaseVirtualDeviceBackingInfo {
	pg := d.Registry.Get(types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: id})
	if portgroup, ok := pg.(*simulator.DistributedVirtualPortgroup); ok {
		connection := types.DistributedVirtualSwitchPortConnection{PortgroupKey: portgroup.Key}
		if ref := portgroup.Config.DistributedVirtualSwitch; ref != nil {
			if dvs, ok := d.Registry.Get(*ref).(*simulator.DistributedVirtualSwitch); ok {
				connection.SwitchUuid = dvs.Uuid
			}
		}
		return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: connection}
	}
	name := id
	if network, ok := d.Registry.Get(types.ManagedObjectReference{Type: "Network", Value: id}).(*mo.Network); ok {
		name = network.Name
	}
	return &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: name},
	}
}

// datastore returns the name of the datastore; without an identifier it is the
// first by name.
func (d *Deployer) datastore(id string) (string, error) {
	var names []string
	for _, e := range d.Registry.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok {
			continue
		}
		if ds.Self.Value == id {
			return ds.Name, nil
		}
		names = append(names, ds.Name)
	}
	if id != "" || len(names) == 0 {
		return "", fmt.Errorf("default_datastore_id %q: %w", id, errNotFound)
	}
	return slices.Min(names), nil
}

func (d *Deployer) folder(id string) (types.ManagedObjectReference, error) {
	if id != "" {
		return types.ManagedObjectReference{Type: "Folder", Value: id}, nil
	}
	dc, ok := d.Registry.Get(d.Datacenter).(*simulator.Datacenter)
	if !ok {
		return types.ManagedObjectReference{}, fmt.Errorf("datacenter %s: %w", d.Datacenter.Value, errNotFound)
	}
	return dc.VmFolder, nil
}
