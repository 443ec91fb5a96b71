// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// Mebibyte is the unit of vSphere's memory, disks and memory allocations, in bytes.
	Mebibyte = int64(1) << 20
	// Megahertz is the unit of vSphere's CPU allocations, in hertz.
	Megahertz = int64(1_000_000)
	// MemoryUnit is the unit in which vSphere gives a guest memory, in bytes: 4 MiB
	// (VirtualMachineConfigSpec.memoryMB).
	MemoryUnit = 4 * Mebibyte

	// MaxVCPUs is the largest virtual machine of vSphere 8 (configuration maximums).
	MaxVCPUs = 768
	// MaxMemory is the largest virtual machine of vSphere 8, in bytes: 24 TiB.
	MaxMemory = int64(24) << 40
	// MaxDisk is the largest virtual disk of vSphere, in bytes: 62 TiB.
	MaxDisk = int64(62) << 40

	// MaxInterfaces is the most network adapters of a virtual machine (the same).
	MaxInterfaces = 10

	// MinHardwareVersion is the newest of ESXi 6.5.
	MinHardwareVersion = 13
	// MaxHardwareVersion is that of the newest vSphere that is known here.
	MaxHardwareVersion = 22
)

// Whole returns an amount in its base unit: bytes or hertz. It is false unless the
// amount is a whole number from least to most, however it is written: 1.5Gi is
// whole, 500m is not.
func Whole(amount resource.Quantity, least, most int64) (int64, bool) {
	if amount.CmpInt64(least) < 0 || amount.CmpInt64(most) > 0 {
		return 0, false
	}
	value := amount.Value() // rounds up
	return value, amount.CmpInt64(value) == 0
}

// HardwareVersion reads a version as vSphere writes it, for example vmx-21, in any
// letter case. It is false for what is none, or none that is known here.
func HardwareVersion(name string) (int32, bool) {
	digits, ok := strings.CutPrefix(strings.ToLower(name), "vmx-")
	if !ok {
		return 0, false
	}
	version, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || version < MinHardwareVersion || version > MaxHardwareVersion {
		return 0, false
	}
	return int32(version), true
}

// AllowedTime is what Time allows, in words.
const AllowedTime = "must be an RFC 3339 time from 2000 to 9999 in UTC, for example 2026-01-02T15:04:05Z"

// Time reads an RFC 3339 time. It is false for what is none, and for times outside of
// the years that every program can write and read again: the zero time, which stands
// for none, and those that an offset moves out of four digits.
func Time(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if year := t.UTC().Year(); err != nil || year < 2000 || year > 9999 {
		return time.Time{}, false
	}
	return t, true
}
