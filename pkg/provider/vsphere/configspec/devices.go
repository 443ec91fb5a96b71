// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Keys of the configuration file that have no field in vSphere's API.
const (
	hotplugKey  = "devices.hotplug"
	videoKey    = "svga.present"
	hugePageKey = "sched.mem.lpage.enable1GPage"
)

// devicesOf returns the VM's devices of type T.
func devicesOf[T types.BaseVirtualDevice](vm *mo.VirtualMachine) []T {
	var out []T
	if vm.Config == nil {
		return nil
	}
	for _, d := range vm.Config.Hardware.Device {
		if d, ok := d.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

// ownDisks returns the disks that are not first class disks.
func ownDisks(vm *mo.VirtualMachine) []*types.VirtualDisk {
	return slices.DeleteFunc(devicesOf[*types.VirtualDisk](vm), func(d *types.VirtualDisk) bool { return observe.FirstClassID(d) != "" })
}

// isOn reports whether an option of the configuration file is enabled. The default is enabled.
func isOn(in *input, key string) bool { return !strings.EqualFold(in.extra(key), "FALSE") }

func upperFlag(on bool) string { return strings.ToUpper(hardware.FormatFlag(on)) }

func readTPM(in *input) {
	if tpmOf(in.vm) != nil {
		in.running.Devices.TPM = &vmv1alpha1.VirtualMachineTPM{}
	}
}

// adjustTPM adds a TPM. It removes the TPM only if the spec disables it, because the TPM's secrets cannot be
// restored.
func adjustTPM(in *input) {
	t := in.desired.Devices.TPM
	adds, removes := wantsTPM(t) && hasEFI(in), t != nil && !wantsTPM(t) && !in.adopted
	if !adds && !removes {
		in.desired.Devices.TPM = in.running.Devices.TPM
	}
}

func setTPM(in *input, s *configSpec) {
	op, device := types.VirtualDeviceConfigSpecOperationRemove, tpmOf(in.vm)
	if wantsTPM(in.desired.Devices.TPM) {
		op, device = types.VirtualDeviceConfigSpecOperationAdd, &types.VirtualTPM{}
		device.Key = newTPMKey
	}
	s.DeviceChange = append(s.DeviceChange, deviceChange(op, device))
}

func tpmOf(vm *mo.VirtualMachine) *types.VirtualTPM {
	if all := devicesOf[*types.VirtualTPM](vm); len(all) > 0 {
		return all[0]
	}
	return nil
}

func wantsTPM(t *vmv1alpha1.VirtualMachineTPM) bool {
	return t != nil && (t.Enabled == nil || *t.Enabled)
}

// hasEFI reports whether the VM has EFI or will have it.
func hasEFI(in *input) bool {
	if fw := in.Effective.Firmware; fw != nil && fw.Bootloader != "" && !in.adopted {
		return fw.Bootloader == vmv1alpha1.BootloaderEFI
	}
	return in.config.Firmware == string(types.GuestOsDescriptorFirmwareTypeEfi)
}

func readSerialPort(in *input) {
	in.running.Devices.AutoattachSerialConsole = types.NewBool(len(devicesOf[*types.VirtualSerialPort](in.vm)) > 0)
}

// adjustSerialPort adds a serial port if the VM's folder for its output file is known. The port is never removed.
func adjustSerialPort(in *input) {
	if !isTrue(in.desired.Devices.AutoattachSerialConsole) || consoleLog(in) == "" {
		in.desired.Devices.AutoattachSerialConsole = in.running.Devices.AutoattachSerialConsole
	}
}

// setSerialPort adds a serial port that writes to console.log in the VM's folder.
func setSerialPort(in *input, s *configSpec) {
	port := &types.VirtualSerialPort{YieldOnPoll: true}
	port.Key, port.ControllerKey = newSerialKey, 400 // The super I/O controller of every VM.
	for _, sio := range devicesOf[*types.VirtualSIOController](in.vm) {
		port.ControllerKey = sio.Key
	}
	backing := &types.VirtualSerialPortFileBackingInfo{}
	backing.FileName = consoleLog(in)
	port.Backing = backing
	s.DeviceChange = append(s.DeviceChange, deviceChange(types.VirtualDeviceConfigSpecOperationAdd, port))
}

// consoleLog returns the datastore path of console.log in the VM's folder, or an empty string if the folder is not
// known.
func consoleLog(in *input) string {
	var dir object.DatastorePath
	if !dir.FromString(in.config.Files.VmPathName) {
		return ""
	}
	dir.Path = path.Join(path.Dir(dir.Path), "console.log")
	return dir.String()
}

func deviceChange(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) *types.VirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: op, Device: d}
}
