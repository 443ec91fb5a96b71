// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// fillFirmware sets the bootloader if the virtual machine does not specify one. It never changes BIOS to EFI. As in
// KubeVirt, if the virtual machine specifies EFI, only the deprecated field enables secure boot; preferredEfi applies
// only together with its own EFI.
func fillFirmware(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.FirmwarePreferences) {
	if pref == nil {
		return
	}
	if spec.Firmware != nil && spec.Firmware.Bootloader != "" {
		if spec.Firmware.Bootloader == vmv1alpha1.BootloaderEFI {
			fillBool(&spec.Firmware.SecureBoot, pref.DeprecatedPreferredUseSecureBoot)
		}
		return
	}
	bootloader, secureBoot := preferredBootloader(pref)
	if bootloader == "" {
		return
	}
	var own *bool
	if spec.Firmware != nil {
		own = spec.Firmware.SecureBoot
	}
	// Secure boot needs EFI. So a preference for BIOS is ignored if the virtual machine enables secure boot.
	if bootloader == vmv1alpha1.BootloaderBIOS && own != nil && *own {
		return
	}
	if spec.Firmware == nil {
		spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
	}
	spec.Firmware.Bootloader = bootloader
	fillBool(&spec.Firmware.SecureBoot, secureBoot)
}

// preferredBootloader returns the preferred bootloader: BIOS first, then preferredEfi, then the deprecated fields.
func preferredBootloader(pref *itv1alpha1.FirmwarePreferences) (vmv1alpha1.Bootloader, *bool) {
	yes := true
	switch {
	case pref.PreferredUseBios != nil && *pref.PreferredUseBios:
		return vmv1alpha1.BootloaderBIOS, nil
	case pref.PreferredEfi != nil:
		if pref.PreferredEfi.SecureBoot != nil {
			return vmv1alpha1.BootloaderEFI, pref.PreferredEfi.SecureBoot
		}
		return vmv1alpha1.BootloaderEFI, &yes
	case pref.DeprecatedPreferredUseEfi != nil && *pref.DeprecatedPreferredUseEfi:
		return vmv1alpha1.BootloaderEFI, pref.DeprecatedPreferredUseSecureBoot
	default:
		return "", nil
	}
}
