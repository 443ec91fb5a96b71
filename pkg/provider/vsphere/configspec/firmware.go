// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
)

func (c *comparison) firmware() {
	e := c.want.Effective
	if have := version(c.have.Version); e.MinHardwareVersion > have {
		c.add(Difference{Path: hardware.HardwareVersion, Running: hardware.Count(have), Desired: hardware.Count(e.MinHardwareVersion),
			set: func(*types.VirtualMachineConfigSpec) {}, upgrade: fmt.Sprintf("vmx-%02d", e.MinHardwareVersion)})
	}
	if e.GuestID != "" {
		c.add(Difference{Path: hardware.GuestID, Running: c.have.GuestId, Desired: e.GuestID,
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
		c.add(Difference{Path: hardware.BIOSUUID, Running: lower(c.have.Uuid), Desired: lower(fw.UUID),
			set: func(s *types.VirtualMachineConfigSpec) { s.Uuid = lower(fw.UUID) }})
	}
	if fw.Bootloader != "" {
		c.add(Difference{Path: hardware.Bootloader, Running: strings.ToUpper(c.have.Firmware), Desired: string(fw.Bootloader),
			set: func(s *types.VirtualMachineConfigSpec) { s.Firmware = lower(string(fw.Bootloader)) }})
	}
	if fw.SecureBoot != nil {
		have := c.have.BootOptions != nil && isTrue(c.have.BootOptions.EfiSecureBootEnabled)
		want := *fw.SecureBoot
		c.add(Difference{Path: hardware.SecureBoot, Running: hardware.Flag(have), Desired: hardware.Flag(want),
			set: func(s *types.VirtualMachineConfigSpec) {
				bootOptions(s).EfiSecureBootEnabled = &want
				// vSphere checks the two together.
				s.Firmware = lower(string(fw.Bootloader))
			}})
	}
}
