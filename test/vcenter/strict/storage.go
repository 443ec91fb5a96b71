// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// checkStorage refuses changes of an existing virtual machine's disks and drives that vSphere refuses and the
// simulator would do:
//
//   - extending a disk with a parent: VMware KB 1004047;
//   - adding or removing a CD-ROM drive while the VM runs (judgement: a drive cannot be hot-plugged on IDE, and
//     clients of vSphere do not do it on any bus);
//   - extending, adding or removing a disk on IDE while the VM runs;
//   - encrypting while the VM runs or has snapshots (vSphere Security, Encrypt an Existing Virtual Machine or Virtual
//     Disk), and encrypting a disk of a VM that is not encrypted.
func checkStorage(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	runs := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
	powered := &types.InvalidPowerState{
		RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: types.VirtualMachinePowerStatePoweredOn,
	}
	_, encrypts := spec.Crypto.(*types.CryptoSpecEncrypt)
	if encrypts && runs {
		return powered
	}
	if encrypts && vm.Snapshot != nil && vm.Snapshot.CurrentSnapshot != nil {
		return &types.InvalidState{}
	}
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		edits := change.Operation == types.VirtualDeviceConfigSpecOperationEdit
		switch device := change.Device.(type) {
		case *types.VirtualCdrom:
			if runs && !edits {
				return powered
			}
		case *types.VirtualDisk:
			have := diskOf(vm, device.Key)
			grows := edits && have != nil && max(device.CapacityInBytes, device.CapacityInKB<<10) > have.CapacityInBytes
			switch {
			case grows && hasParent(have):
				return &types.InvalidDeviceOperation{}
			case runs && (grows || !edits) && onIDE(vm, device.ControllerKey):
				return powered
			case encryptsDisk(change) && vm.Config.KeyId == nil && !encrypts:
				return &types.InvalidVmConfig{Property: "configSpec.crypto"}
			}
		}
	}
	return nil
}

func encryptsDisk(change *types.VirtualDeviceConfigSpec) bool {
	if change.Backing == nil {
		return false
	}
	_, ok := change.Backing.Crypto.(*types.CryptoSpecEncrypt)
	return ok
}

func diskOf(vm *simulator.VirtualMachine, key int32) *types.VirtualDisk {
	for _, disk := range disksOf(vm.Config) {
		if disk.Key == key {
			return disk
		}
	}
	return nil
}

func hasParent(disk *types.VirtualDisk) bool {
	flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && flat.Parent != nil
}

func onIDE(vm *simulator.VirtualMachine, controller int32) bool {
	for _, d := range vm.Config.Hardware.Device {
		if _, ok := d.(*types.VirtualIDEController); ok && d.GetVirtualDevice().Key == controller {
			return true
		}
	}
	return false
}

// keepBootOptions adds the current boot options that a change does not set. The simulator would otherwise replace all
// of them.
func keepBootOptions(config *types.VirtualMachineConfigInfo, spec *types.VirtualMachineConfigSpec) {
	have, want := config.BootOptions, spec.BootOptions
	if have == nil || want == nil {
		return
	}
	all := *want
	if all.BootOrder == nil {
		all.BootOrder = have.BootOrder
	}
	if all.EfiSecureBootEnabled == nil {
		all.EfiSecureBootEnabled = have.EfiSecureBootEnabled
	}
	spec.BootOptions = &all
}

// placeDisks places the disks of a clone on the datastores of its request, with the requested provisioning.
func placeDisks(ctx *simulator.Context, changes []types.BaseVirtualDeviceConfigSpec, at *types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	for _, locator := range at.Disk {
		for _, c := range changes {
			disk, ok := c.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
			if !ok || disk.Key != locator.DiskId {
				continue
			}
			ds, ok := ctx.Map.Get(locator.Datastore).(*simulator.Datastore)
			if !ok {
				return &types.ManagedObjectNotFound{Obj: locator.Datastore}
			}
			flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if !ok {
				continue
			}
			flat.FileName = "[" + ds.Name + "]"
			if want, ok := locator.DiskBackingInfo.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				flat.ThinProvisioned, flat.EagerlyScrub = want.ThinProvisioned, want.EagerlyScrub
			}
		}
	}
	return nil
}

// profileIn returns the profile in a specification, or an empty string.
func profileIn(specs []types.BaseVirtualMachineProfileSpec) string {
	for _, s := range specs {
		if p, ok := s.(*types.VirtualMachineDefinedProfileSpec); ok {
			return p.ProfileId
		}
	}
	return ""
}

// checkProfiles refuses profiles that do not exist (judgement: as an invalid argument).
func (g *Gate) checkProfiles(spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	profiles := []string{profileIn(spec.VmProfile)}
	for _, c := range spec.DeviceChange {
		profiles = append(profiles, profileIn(c.GetVirtualDeviceConfigSpec().Profile))
	}
	for _, p := range profiles {
		if p != "" && g.Policies != nil && !g.Policies.Knows(p) {
			return &types.InvalidArgument{InvalidProperty: "profileId"}
		}
	}
	return nil
}

// associate reports changes with a profile to the policy service.
func (g *Gate) associate(vm types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) {
	if g.Policies == nil {
		return
	}
	if p := profileIn(spec.VmProfile); p != "" {
		g.Policies.Associate(vm.Value, p)
	}
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		if p := profileIn(change.Profile); p != "" {
			g.Policies.Associate(fmt.Sprintf("%s:%d", vm.Value, change.Device.GetVirtualDevice().Key), p)
		}
	}
}
