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

// devices compares the remaining devices of an existing VM: a new one has its
// own only when the image was deployed.
func (c *comparison) devices() {
	if c.vm.Config == nil {
		return
	}
	c.passthrough()
	d := c.want.Effective.Devices
	if d == nil {
		return
	}
	c.tpm(d.TPM)
	if d.DisableHotplug != nil {
		c.flag(hardware.DisableHotplug, hotplugKey, !*d.DisableHotplug, func(on bool) string { return hardware.Flag(!on) })
	}
	if d.AutoattachGraphicsDevice != nil {
		c.flag(hardware.GraphicsDevice, videoKey, *d.AutoattachGraphicsDevice, hardware.Flag)
	}
	if isTrue(d.AutoattachSerialConsole) {
		c.serial()
	}
}

// flag compares a switch of the configuration file that is on by default; print gives
// the field that it stands for.
func (c *comparison) flag(path, key string, on bool, print func(on bool) string) {
	have := !strings.EqualFold(extra(c, key), "FALSE")
	c.add(Difference{Path: path, Running: print(have), Desired: print(on), set: option(key, strings.ToUpper(hardware.Flag(on)))})
}

// tpm adds the TPM, and removes it only if the spec says so in words: its
// secrets cannot be brought back.
func (c *comparison) tpm(want *vmv1alpha1.VirtualMachineTPM) {
	have := tpmOf(c.have)
	switch {
	case wantsTPM(want) && have == nil && c.efi():
		tpm := &types.VirtualTPM{}
		tpm.Key = newTPMKey
		c.device(hardware.TPM, "", hardware.Present, types.VirtualDeviceConfigSpecOperationAdd, tpm)
	case want != nil && !wantsTPM(want) && have != nil && !c.adopted:
		c.device(hardware.TPM, hardware.Present, "", types.VirtualDeviceConfigSpecOperationRemove, have)
	}
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

// efi is true when the VM has EFI, or will have it.
func (c *comparison) efi() bool {
	if fw := c.want.Effective.Firmware; fw != nil && fw.Bootloader != "" && !c.adopted {
		return fw.Bootloader == vmv1alpha1.BootloaderEFI
	}
	return c.have.Firmware == string(types.GuestOsDescriptorFirmwareTypeEfi)
}

// serial adds a serial port that writes to console.log in the VM's folder,
// unless the VM has a serial port.
func (c *comparison) serial() {
	port := &types.VirtualSerialPort{YieldOnPoll: true}
	port.Key, port.ControllerKey = newSerialKey, 400 // the super I/O controller of every VM
	for _, d := range c.have.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualSerialPort:
			return
		case *types.VirtualSIOController:
			port.ControllerKey = d.Key
		}
	}
	var dir object.DatastorePath
	if !dir.FromString(c.have.Files.VmPathName) {
		return
	}
	dir.Path = path.Join(path.Dir(dir.Path), "console.log")
	backing := &types.VirtualSerialPortFileBackingInfo{}
	backing.FileName = dir.String()
	port.Backing = backing
	c.device(hardware.SerialConsole, hardware.Flag(false), hardware.Flag(true), types.VirtualDeviceConfigSpecOperationAdd, port)
}

// device is a change of one device that needs a powered-off VM.
func (c *comparison) device(path, running, desired string, op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) {
	c.add(Difference{Path: path, Running: running, Desired: desired, set: func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, deviceChange(op, d))
	}})
}

func deviceChange(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) *types.VirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: op, Device: d}
}
