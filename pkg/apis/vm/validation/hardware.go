// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// maxHertz is larger than the capacity of any host: a million gigahertz.
	maxHertz = 1_000_000_000_000_000
	// maxShares is the maximum number of shares in vSphere.
	maxShares = 1_000_000

	allowedGuestMemory = "must be a multiple of 4Mi, from 4Mi to 24Ti"
	allowedHostMemory  = "must be a whole number of mebibytes, from 0 to 24Ti"
	allowedHertz       = "must be a whole number of megahertz, for example 2G for 2 GHz, and not negative"
	allowedHertzLimit  = "must be a whole number of megahertz greater than zero, for example 2G for 2 GHz"
)

// validateCPU checks the optional virtual CPUs.
func validateCPU(cpu *vmv1alpha1.VirtualMachineCPU, path *field.Path) field.ErrorList {
	if cpu == nil {
		return nil
	}
	errs := validateRange(int64(cpu.Sockets), 0, limits.MaxVCPUs, path.Child("sockets"))
	errs = append(errs, validateRange(int64(cpu.Cores), 0, limits.MaxVCPUs, path.Child("cores"))...)
	errs = append(errs, validateRange(int64(cpu.Threads), 0, limits.MaxVCPUs, path.Child("threads"))...)
	sockets := max(int64(cpu.Sockets), 1)
	if vcpus := sockets * max(int64(cpu.Cores), 1) * max(int64(cpu.Threads), 1); len(errs) == 0 && vcpus > limits.MaxVCPUs {
		errs = append(errs, field.Invalid(path, vcpus, fmt.Sprintf("sockets × cores × threads must be at most %d vCPUs", limits.MaxVCPUs)))
	}
	if cpu.MaxSockets != nil {
		errs = append(errs, validateRange(int64(*cpu.MaxSockets), sockets, limits.MaxVCPUs, path.Child("maxSockets"))...)
	}
	errs = append(errs, validateEnum(cpu.LatencySensitivity, path.Child("latencySensitivity"),
		vmv1alpha1.LatencySensitivityNormal, vmv1alpha1.LatencySensitivityHigh)...)
	errs = append(errs, validateQuantity(cpu.Reservation, limits.Megahertz, 0, maxHertz, allowedHertz, path.Child("reservation"))...)
	errs = append(errs, validateQuantity(cpu.Limit, limits.Megahertz, limits.Megahertz, maxHertz, allowedHertzLimit, path.Child("limit"))...)
	errs = append(errs, validateOrder(cpu.Reservation, cpu.Limit, "limit", path.Child("reservation"))...)
	return append(errs, validateShares(cpu.Shares, path.Child("shares"))...)
}

// validateCPUGiven checks that the number of CPUs is set.
func validateCPUGiven(cpu *vmv1alpha1.VirtualMachineCPU, path *field.Path) field.ErrorList {
	if cpu.Sockets == 0 && cpu.Cores == 0 && cpu.Threads == 0 {
		return field.ErrorList{field.Required(path, "one of sockets, cores or threads must be at least 1")}
	}
	return nil
}

// ValidateMemory checks the optional memory.
func ValidateMemory(memory *vmv1alpha1.VirtualMachineMemory, path *field.Path) field.ErrorList {
	if memory == nil {
		return nil
	}
	errs := validateQuantity(memory.Guest, limits.MemoryUnit, limits.MemoryUnit, limits.MaxMemory, allowedGuestMemory, path.Child("guest"))
	errs = append(errs, validateQuantity(memory.MaxGuest, limits.MemoryUnit, limits.MemoryUnit, limits.MaxMemory, allowedGuestMemory, path.Child("maxGuest"))...)
	errs = append(errs, validateOrder(memory.Guest, memory.MaxGuest, "maxGuest", path.Child("guest"))...)
	errs = append(errs, validateEnum(memory.HugePageSize, path.Child("hugePageSize"), "2Mi", "1Gi")...)
	errs = append(errs, validateQuantity(memory.Reservation, limits.Mebibyte, 0, limits.MaxMemory, allowedHostMemory, path.Child("reservation"))...)
	errs = append(errs, validateOrder(memory.Reservation, memory.Guest, "guest", path.Child("reservation"))...)
	errs = append(errs, validateQuantity(memory.Limit, limits.Mebibyte, limits.Mebibyte, limits.MaxMemory, allowedHostMemory+", and more than 0", path.Child("limit"))...)
	errs = append(errs, validateOrder(memory.Reservation, memory.Limit, "limit", path.Child("reservation"))...)
	return append(errs, validateShares(memory.Shares, path.Child("shares"))...)
}

// validateMemoryGiven checks that the guest memory is set.
func validateMemoryGiven(memory *vmv1alpha1.VirtualMachineMemory, path *field.Path) field.ErrorList {
	if memory.Guest == nil {
		return field.ErrorList{field.Required(path.Child("guest"), allowedGuestMemory)}
	}
	return nil
}

// validateShares checks the shares.
func validateShares(shares *vmv1alpha1.Shares, path *field.Path) field.ErrorList {
	if shares == nil {
		return nil
	}
	levels := []vmv1alpha1.SharesLevel{vmv1alpha1.SharesLow, vmv1alpha1.SharesNormal, vmv1alpha1.SharesHigh, vmv1alpha1.SharesCustom}
	number := path.Child("shares")
	switch {
	case shares.Level == "":
		return field.ErrorList{field.Required(path.Child("level"), "must be Low, Normal, High or Custom")}
	case shares.Level != vmv1alpha1.SharesCustom && shares.Shares != nil:
		return append(validateEnum(shares.Level, path.Child("level"), levels...),
			field.Forbidden(number, fmt.Sprintf("%d may be set only with level Custom, not with %s", *shares.Shares, shares.Level)))
	case shares.Level != vmv1alpha1.SharesCustom:
		return validateEnum(shares.Level, path.Child("level"), levels...)
	case shares.Shares == nil:
		return field.ErrorList{field.Required(number, fmt.Sprintf("must be from 1 to %d with level Custom", maxShares))}
	default:
		return validateRange(int64(*shares.Shares), 1, maxShares, number)
	}
}

// validateFirmware checks the firmware.
func validateFirmware(firmware *vmv1alpha1.VirtualMachineFirmware, path *field.Path) field.ErrorList {
	if firmware == nil {
		return nil
	}
	errs := validateEnum(firmware.Bootloader, path.Child("bootloader"), vmv1alpha1.BootloaderBIOS, vmv1alpha1.BootloaderEFI)
	if firmware.Bootloader == vmv1alpha1.BootloaderBIOS && firmware.SecureBoot != nil && *firmware.SecureBoot {
		errs = append(errs, field.Invalid(path.Child("secureBoot"), true, "requires bootloader EFI, not BIOS"))
	}
	return append(errs, validateUUID(firmware.UUID, path.Child("uuid"))...)
}

// validateNewBIOSUUID rejects the UUIDs whose bits are all 0 or all 1, which mean that no UUID is set (System
// Management BIOS Reference Specification, 7.2.1). It is called only for new objects, so that a VM that was stored with
// one can be changed and deleted.
func validateNewBIOSUUID(firmware *vmv1alpha1.VirtualMachineFirmware, path *field.Path) field.ErrorList {
	if firmware == nil || firmware.UUID == "" || strings.Trim(firmware.UUID, "0-") != "" && strings.Trim(firmware.UUID, "fF-") != "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, firmware.UUID, "must not be the nil UUID or the max UUID, which do not identify a machine")}
}

// validateDevices checks GPUs and host devices.
func validateDevices(devices *vmv1alpha1.VirtualMachineDevices, path *field.Path) field.ErrorList {
	if devices == nil {
		return nil
	}
	errs := validateDeviceList(devices.GPUs, path.Child("gpus"))
	return append(errs, validateDeviceList(devices.HostDevices, path.Child("hostDevices"))...)
}

// validateDeviceList checks the names of devices.
func validateDeviceList(devices []vmv1alpha1.VirtualMachineDevice, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, device := range devices {
		errs = append(errs, validateItemName(device.Name, seen, path.Index(i).Child("name"))...)
		if device.DeviceName == "" {
			errs = append(errs, field.Required(path.Index(i).Child("deviceName"),
				"must be a vGPU profile, or vendor:device in hexadecimal"))
		}
	}
	return errs
}

// validateTPM checks that a TPM is used with EFI.
func validateTPM(devices *vmv1alpha1.VirtualMachineDevices, firmware *vmv1alpha1.VirtualMachineFirmware, path *field.Path) field.ErrorList {
	if devices == nil || devices.TPM == nil || (devices.TPM.Enabled != nil && !*devices.TPM.Enabled) ||
		firmware == nil || firmware.Bootloader != vmv1alpha1.BootloaderBIOS {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "requires spec.firmware.bootloader EFI, not BIOS")}
}

// validateHardwareVersion checks an optional virtual hardware version.
func validateHardwareVersion(version int32, path *field.Path) field.ErrorList {
	if version == 0 {
		return nil
	}
	return validateRange(int64(version), limits.MinHardwareVersion, limits.MaxHardwareVersion, path)
}

// guestIDFormat matches every vSphere guest ID. The longest in vSphere 8.0 has 26 characters.
var guestIDFormat = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// validateGuestID checks the format of an optional guest ID. The supported values depend on the vSphere version.
func validateGuestID(id string, path *field.Path) field.ErrorList {
	if id == "" || guestIDFormat.MatchString(id) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, id, "must be 1 to 64 letters, digits and underscores, for example ubuntu64Guest")}
}
