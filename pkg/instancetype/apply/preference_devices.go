// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Names of vSphere adapters.
const (
	busPVSCSI     = "pvscsi"
	busSATA       = "sata"
	busIDE        = "ide"
	nicVMXNET3    = "vmxnet3"
	videoTypeSVGA = "svga"
)

// fillDevices sets unset devices except disks and network interfaces. It does not create devices without a preference.
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
	// A TPM in the virtual machine's spec is not changed, even if it is disabled.
	if pref.PreferredTPM != nil && devices(spec).TPM == nil {
		tpm := &vmv1alpha1.VirtualMachineTPM{}
		fillBool(&tpm.Enabled, pref.PreferredTPM.Enabled)
		fillBool(&tpm.Persistent, pref.PreferredTPM.Persistent)
		spec.Devices.TPM = tpm
	}
	// vSphere has only one type of video card. Other types are reported for the preference, not for each virtual
	// machine.
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

// fillDisks sets the controller of volumes that do not specify one.
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

// fillInterfaces sets the model of interfaces that do not specify one.
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

// diskBus returns the vSphere controller for a bus; false if there is none.
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

// nicModel returns the vSphere adapter for a model; false if there is none.
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
