// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Names of vSphere's adapters.
const (
	busPVSCSI     = "pvscsi"
	busSATA       = "sata"
	busIDE        = "ide"
	nicVMXNET3    = "vmxnet3"
	videoTypeSVGA = "svga"
)

// fillDevices fills the devices besides disks and network interfaces. Nothing
// is made when nothing is preferred.
func fillDevices(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.DevicePreferences) {
	if pref == nil {
		return
	}
	if pref.PreferredAutoattachGraphicsDevice != nil {
		fillBool(&devices(spec).AutoattachGraphicsDevice, pref.PreferredAutoattachGraphicsDevice)
	}
	if pref.PreferredAutoattachSerialConsole != nil {
		fillBool(&devices(spec).AutoattachSerialConsole, pref.PreferredAutoattachSerialConsole)
	}
	if pref.PreferredDisableHotplug != nil {
		fillBool(&devices(spec).DisableHotplug, pref.PreferredDisableHotplug)
	}
	// A TPM that the virtual machine mentions is its own business, also when it
	// is turned off.
	if pref.PreferredTPM != nil && devices(spec).TPM == nil {
		tpm := &vmv1alpha1.VirtualMachineTPM{}
		fillBool(&tpm.Enabled, pref.PreferredTPM.Enabled)
		fillBool(&tpm.Persistent, pref.PreferredTPM.Persistent)
		spec.Devices.TPM = tpm
	}
	// vSphere has one video card. Another that is preferred is reported with the
	// preference, not with every virtual machine that has it.
	if pref.PreferredVideoType == videoTypeSVGA {
		out := devices(spec)
		if out.Video == nil {
			out.Video = &vmv1alpha1.VirtualMachineVideo{}
		}
		if out.Video.Type == "" {
			out.Video.Type = pref.PreferredVideoType
		}
	}
}

// fillDisks gives a controller to the volumes that name none.
func fillDisks(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.DevicePreferences) {
	if pref == nil {
		return
	}
	disk, disks := diskBus(string(pref.PreferredDiskBus))
	cdrom := string(pref.PreferredCdromBus)
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		switch {
		case v.Bus != "":
		case v.CDROM == nil && disks:
			v.Bus = disk
		case v.CDROM != nil && (cdrom == busSATA || cdrom == busIDE):
			v.Bus = cdrom
		}
	}
}

// fillInterfaces gives a model to the interfaces that name none.
func fillInterfaces(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.DevicePreferences) {
	if pref == nil || spec.Network == nil {
		return
	}
	model, ok := nicModel(pref.PreferredInterfaceModel)
	if !ok {
		return
	}
	for i := range spec.Network.Interfaces {
		if spec.Network.Interfaces[i].Model == "" {
			spec.Network.Interfaces[i].Model = model
		}
	}
}

// diskBus returns vSphere's controller for the name of a bus; false for one
// that vSphere has no controller for.
func diskBus(bus string) (string, bool) {
	switch bus {
	case "virtio", "scsi", busPVSCSI:
		return busPVSCSI, true
	case "lsilogic", "lsilogicsas", busSATA, "nvme", busIDE:
		return bus, true
	default:
		return "", false
	}
}

// nicModel returns vSphere's adapter for the name of a model; false for one
// that vSphere has no adapter for.
func nicModel(model string) (string, bool) {
	switch model {
	case "virtio", nicVMXNET3:
		return nicVMXNET3, true
	case "e1000e", "e1000", "sriov":
		return model, true
	default:
		return "", false
	}
}
