// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// Template describes the template virtual machine: a Linux guest with one CPU,
// 2 GiB of memory, EFI, one disk and one network card.
func Template(name, datastore string) types.VirtualMachineConfigSpec {
	const controllerKey = -101
	return types.VirtualMachineConfigSpec{
		Name:                name,
		GuestId:             string(types.VirtualMachineGuestOsIdentifierUbuntu64Guest),
		Version:             "vmx-19",
		Firmware:            string(types.GuestOsDescriptorFirmwareTypeEfi),
		NumCPUs:             1,
		NumCoresPerSocket:   types.NewInt32(1),
		MemoryMB:            2048,
		CpuHotAddEnabled:    types.NewBool(true),
		MemoryHotAddEnabled: types.NewBool(true),
		Files:               &types.VirtualMachineFileInfo{VmPathName: "[" + datastore + "]"},
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			added(&types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{
				SharedBus: types.VirtualSCSISharingNoSharing,
				VirtualController: types.VirtualController{
					VirtualDevice: types.VirtualDevice{Key: controllerKey, ControllerKey: esx.VirtualMachineDefaultDevicePCIControllerKey},
				},
			}}),
			withFile(added(&types.VirtualDisk{
				CapacityInKB: 16 << 20,
				VirtualDevice: types.VirtualDevice{
					Key: -102, ControllerKey: controllerKey, UnitNumber: types.NewInt32(0),
					Backing: &types.VirtualDiskFlatVer2BackingInfo{
						VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[" + datastore + "]"},
						DiskMode:                     string(types.VirtualDiskModePersistent),
						ThinProvisioned:              types.NewBool(true),
					},
				},
			})),
			added(&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
				VirtualDevice: types.VirtualDevice{Key: -103, Backing: &types.VirtualEthernetCardNetworkBackingInfo{
					VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: inventory.Network},
				}},
			}}}),
		},
	}
}

func added(device types.BaseVirtualDevice) *types.VirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device}
}

func withFile(change *types.VirtualDeviceConfigSpec) *types.VirtualDeviceConfigSpec {
	change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
	return change
}
