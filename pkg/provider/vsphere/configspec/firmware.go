// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strconv"

	"github.com/vmware/govmomi/vim25/types"
)

func (c *comparison) firmware() {
	e := c.want.Effective
	if have := version(c.have.Version); e.MinHardwareVersion > have {
		c.add(Difference{Path: "minHardwareVersion", Running: itoa(have), Desired: itoa(e.MinHardwareVersion),
			set: func(*types.VirtualMachineConfigSpec) {}, upgrade: fmt.Sprintf("vmx-%02d", e.MinHardwareVersion)})
	}
	if e.GuestID != "" {
		c.add(Difference{Path: "guestID", Running: c.have.GuestId, Desired: e.GuestID,
			set: func(s *types.VirtualMachineConfigSpec) { s.GuestId = e.GuestID }})
	}
	if e.Firmware != nil && !c.adopted {
		c.identityAndBoot()
	}
}

// identityAndBoot compares the BIOS UUID and how the VM boots. An adopted VM keeps
// both: its guest knows itself by the one and was installed for the other.
func (c *comparison) identityAndBoot() {
	fw := c.want.Effective.Firmware
	if fw.UUID != "" {
		c.add(Difference{Path: "firmware.uuid", Running: lower(c.have.Uuid), Desired: lower(fw.UUID),
			set: func(s *types.VirtualMachineConfigSpec) { s.Uuid = lower(fw.UUID) }})
	}
	if fw.Bootloader != "" {
		c.add(Difference{Path: "firmware.bootloader", Running: lower(c.have.Firmware), Desired: lower(string(fw.Bootloader)),
			set: func(s *types.VirtualMachineConfigSpec) { s.Firmware = lower(string(fw.Bootloader)) }})
	}
	if fw.SecureBoot != nil {
		have := c.have.BootOptions != nil && isTrue(c.have.BootOptions.EfiSecureBootEnabled)
		want := *fw.SecureBoot
		c.add(Difference{Path: "firmware.secureBoot", Running: strconv.FormatBool(have), Desired: strconv.FormatBool(want),
			set: func(s *types.VirtualMachineConfigSpec) {
				s.BootOptions = &types.VirtualMachineBootOptions{EfiSecureBootEnabled: &want}
				// vSphere checks the two together.
				s.Firmware = lower(string(fw.Bootloader))
			}})
	}
}
