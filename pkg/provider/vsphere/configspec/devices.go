// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

// Keys of the configuration file that have no field in vSphere's API.
const (
	hotplugKey  = "devices.hotplug"
	videoKey    = "svga.present"
	hugePageKey = "sched.mem.lpage.enable1GPage"
)

// isOn returns a switch of the configuration file that is on by default.
func isOn(in *input, key string) bool { return !strings.EqualFold(in.extra(key), "FALSE") }

func upperFlag(on bool) string { return strings.ToUpper(hardware.Flag(on)) }

func readTPM(in *input, have *hardware.State) {
	if tpmOf(in.have) != nil {
		have.Devices.TPM = &vmv1alpha1.VirtualMachineTPM{}
	}
}

// wantTPM adds the TPM, and removes it only if the spec disables it: its secrets cannot be
// brought back.
func wantTPM(in *input, have, want *hardware.State) {
	t := want.Devices.TPM
	adds, removes := wantsTPM(t) && hasEFI(in), t != nil && !wantsTPM(t) && !in.adopted
	if !adds && !removes {
		want.Devices.TPM = have.Devices.TPM
	}
}

func setTPM(in *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
	op, device := types.VirtualDeviceConfigSpecOperationRemove, tpmOf(in.have)
	if wantsTPM(want.Devices.TPM) {
		op, device = types.VirtualDeviceConfigSpecOperationAdd, &types.VirtualTPM{}
		device.Key = newTPMKey
	}
	s.DeviceChange = append(s.DeviceChange, deviceChange(op, device))
}

func tpmOf(config *types.VirtualMachineConfigInfo) *types.VirtualTPM {
	if config == nil {
		return nil
	}
	for _, d := range config.Hardware.Device {
		if t, ok := d.(*types.VirtualTPM); ok {
			return t
		}
	}
	return nil
}

func wantsTPM(t *vmv1alpha1.VirtualMachineTPM) bool {
	return t != nil && (t.Enabled == nil || *t.Enabled)
}

// hasEFI reports whether the VM has EFI, or will have it.
func hasEFI(in *input) bool {
	if fw := in.Effective.Firmware; fw != nil && fw.Bootloader != "" && !in.adopted {
		return fw.Bootloader == vmv1alpha1.BootloaderEFI
	}
	return in.have.Firmware == string(types.GuestOsDescriptorFirmwareTypeEfi)
}

func readSerialPort(in *input, have *hardware.State) {
	have.Devices.AutoattachSerialConsole = types.NewBool(false)
	for _, d := range in.have.Hardware.Device {
		if _, ok := d.(*types.VirtualSerialPort); ok {
			have.Devices.AutoattachSerialConsole = types.NewBool(true)
		}
	}
}

// wantSerialPort adds a serial port if there is a folder that it can write to. It is never removed.
func wantSerialPort(in *input, have, want *hardware.State) {
	if !isTrue(want.Devices.AutoattachSerialConsole) || consoleLog(in) == "" {
		want.Devices.AutoattachSerialConsole = have.Devices.AutoattachSerialConsole
	}
}

// setSerialPort adds a serial port that writes to console.log in the VM's folder.
func setSerialPort(in *input, _ *hardware.State, s *types.VirtualMachineConfigSpec) {
	port := &types.VirtualSerialPort{YieldOnPoll: true}
	port.Key, port.ControllerKey = newSerialKey, 400 // the super I/O controller of every VM
	for _, d := range in.have.Hardware.Device {
		if sio, ok := d.(*types.VirtualSIOController); ok {
			port.ControllerKey = sio.Key
		}
	}
	backing := &types.VirtualSerialPortFileBackingInfo{}
	backing.FileName = consoleLog(in)
	port.Backing = backing
	s.DeviceChange = append(s.DeviceChange, deviceChange(types.VirtualDeviceConfigSpecOperationAdd, port))
}

// consoleLog returns the datastore path of console.log in the VM's folder, empty if that is not known.
func consoleLog(in *input) string {
	var dir object.DatastorePath
	if !dir.FromString(in.have.Files.VmPathName) {
		return ""
	}
	dir.Path = path.Join(path.Dir(dir.Path), "console.log")
	return dir.String()
}

func deviceChange(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) *types.VirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: op, Device: d}
}
