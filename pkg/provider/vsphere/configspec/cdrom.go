// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// compareDrive compares a CD-ROM drive. Drives are added and removed only while the VM is powered off. This is a
// precaution: vSphere's clients do not add drives to running VMs. Media can be changed at any time. A medium that
// the guest has ejected stays ejected, because only the start-connected setting is compared.
func compareDrive(in *input, v *vmv1alpha1.VirtualMachineVolume, slots map[string]slot, n int32) Difference {
	iso, known := "", true
	if v.CDROM.Image != nil {
		iso, known = in.ISOs[v.Name]
	}
	if !known {
		return Difference{} // Not resolved yet.
	}
	connected := iso != "" && (v.CDROM.Connected == nil || *v.CDROM.Connected)
	desired := hardware.FormatDrive(iso, connected)
	if have := observe.Drives(in.vm)[v.Name]; have != nil {
		return Difference{Path: hardware.VolumePath(v.Name), Running: driveOf(have), Desired: desired, Live: true,
			set: func(spec *types.VirtualMachineConfigSpec) {
				drive := *have
				insert(&drive, iso, connected)
				spec.DeviceChange = append(spec.DeviceChange, deviceChange(types.VirtualDeviceConfigSpecOperationEdit, &drive))
			}}
	}
	s, ok := slots[v.Name]
	if !ok {
		return Difference{} // Refused reports it.
	}
	return Difference{Path: hardware.VolumePath(v.Name), Desired: desired,
		set: func(spec *types.VirtualMachineConfigSpec) {
			addController(in.vm, s, spec)
			drive, unit := &types.VirtualCdrom{}, s.unit
			drive.Key, drive.ControllerKey, drive.UnitNumber = newDriveKey-n, s.controller.Key, &unit
			insert(drive, iso, connected)
			spec.DeviceChange = append(spec.DeviceChange, deviceChange(types.VirtualDeviceConfigSpecOperationAdd, drive))
			option(observe.DriveKey(v.Name), s.controller.Slot(unit))(spec)
		}}
}

// insert inserts an ISO file into a drive. It ejects the current medium if iso is empty.
func insert(drive *types.VirtualCdrom, iso string, connected bool) {
	drive.Backing = &types.VirtualCdromRemotePassthroughBackingInfo{
		VirtualDeviceRemoteDeviceBackingInfo: types.VirtualDeviceRemoteDeviceBackingInfo{UseAutoDetect: types.NewBool(false)},
	}
	if iso != "" {
		backing := &types.VirtualCdromIsoBackingInfo{}
		backing.FileName = iso
		drive.Backing = backing
	}
	drive.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: connected, Connected: connected, AllowGuestControl: true}
}

// driveOf formats a drive's current state.
func driveOf(drive *types.VirtualCdrom) string {
	iso := ""
	if b, ok := drive.Backing.(*types.VirtualCdromIsoBackingInfo); ok {
		iso = b.FileName
	}
	return hardware.FormatDrive(iso, iso != "" && drive.Connectable != nil && drive.Connectable.StartConnected)
}

// removeDrives removes the drives that are no longer in the spec. This loses no data.
func removeDrives(in *input) []Difference {
	var out []Difference
	drives := observe.Drives(in.vm)
	for i := range in.Effective.Volumes {
		if v := &in.Effective.Volumes[i]; v.CDROM != nil {
			delete(drives, v.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(drives)) {
		drive := drives[name]
		if drive == nil {
			continue
		}
		out = append(out, Difference{Path: hardware.VolumePath(name), Running: driveOf(drive), set: func(spec *types.VirtualMachineConfigSpec) {
			spec.DeviceChange = append(spec.DeviceChange, deviceChange(types.VirtualDeviceConfigSpecOperationRemove, drive))
			option(observe.DriveKey(name), "")(spec)
		}})
	}
	return out
}
