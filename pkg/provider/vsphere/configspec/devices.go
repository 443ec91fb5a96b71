// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
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
		c.flag("devices.disableHotplug", hotplugKey, !*d.DisableHotplug)
	}
	if d.AutoattachGraphicsDevice != nil {
		c.flag("devices.autoattachGraphicsDevice", videoKey, *d.AutoattachGraphicsDevice)
	}
	if isTrue(d.AutoattachSerialConsole) {
		c.serial()
	}
}

// flag compares a switch of the configuration file that is on by default.
func (c *comparison) flag(path, key string, on bool) {
	want, have := "TRUE", strings.ToUpper(extra(c, key))
	if !on {
		want = "FALSE"
	}
	if have == "" {
		have = "TRUE"
	}
	if have != want {
		c.extraConfig(path, key, want, false, false)
	}
}

// tpm adds the TPM, and removes it only if the spec says so in words: its
// secrets cannot be brought back.
func (c *comparison) tpm(want *vmv1alpha1.VirtualMachineTPM) {
	have := tpmOf(c.have)
	switch {
	case wantsTPM(want) && have == nil && c.efi():
		tpm := &types.VirtualTPM{}
		tpm.Key = newTPMKey
		c.device("devices.tpm", "", "present", types.VirtualDeviceConfigSpecOperationAdd, tpm)
	case want != nil && !wantsTPM(want) && have != nil && !c.adopted:
		c.device("devices.tpm", "present", "", types.VirtualDeviceConfigSpecOperationRemove, have)
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
	c.device("devices.autoattachSerialConsole", "", "present", types.VirtualDeviceConfigSpecOperationAdd, port)
}

// device is a change of one device that needs a powered-off VM.
func (c *comparison) device(path, running, desired string, op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) {
	c.add(Difference{Path: path, Running: running, Desired: desired, set: func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, &types.VirtualDeviceConfigSpec{Operation: op, Device: d})
	}})
}
