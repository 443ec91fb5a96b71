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
	// Mebibyte is the unit of memory sizes, disk sizes and memory allocations in vSphere, in bytes.
	Mebibyte = int64(1) << 20
	// Megahertz is the unit of CPU allocations in vSphere, in hertz.
	Megahertz = int64(1_000_000)
	// MemoryUnit is the granularity of guest memory in vSphere, in bytes: 4 MiB (VirtualMachineConfigSpec.memoryMB).
	MemoryUnit = 4 * Mebibyte

	// MaxVCPUs is the maximum number of vCPUs of a virtual machine in vSphere 8 (configuration maximums).
	MaxVCPUs = 768
	// MaxMemory is the maximum memory of a virtual machine in vSphere 8, in bytes: 24 TiB.
	MaxMemory = int64(24) << 40
	// MaxDisk is the maximum size of a virtual disk in vSphere, in bytes: 62 TiB.
	MaxDisk = int64(62) << 40

	// MaxInterfaces is the maximum number of network adapters of a virtual machine in vSphere 8.
	MaxInterfaces = 10

	// MinHardwareVersion is the newest virtual hardware version of ESXi 6.5.
	MinHardwareVersion = 13
	// MaxHardwareVersion is the newest supported virtual hardware version.
	MaxHardwareVersion = 22
)

// WholeNumber returns an amount in its base unit, which is bytes or hertz. It returns false unless the amount is a whole
// number from least to most in any notation: 1.5Gi is whole, 500m is not.
func WholeNumber(amount resource.Quantity, least, most int64) (int64, bool) {
	if amount.CmpInt64(least) < 0 || amount.CmpInt64(most) > 0 {
		return 0, false
	}
	value := amount.Value() // rounds up
	return value, amount.CmpInt64(value) == 0
}

// ParseHardwareVersion parses a version in vSphere notation, for example vmx-21, in any letter case. It returns false if the
// version is malformed or not supported.
func ParseHardwareVersion(name string) (int32, bool) {
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

// AllowedTime describes the values that Time accepts.
const AllowedTime = "must be an RFC 3339 time from 2000 to 9999 in UTC, for example 2026-01-02T15:04:05Z"

// ParseTime parses an RFC 3339 time. It returns false if the time is malformed or not in the years 2000 to 9999. This
// excludes the zero time and times that do not have a four-digit year in another time zone.
func ParseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if year := t.UTC().Year(); err != nil || year < 2000 || year > 9999 {
		return time.Time{}, false
	}
	return t, true
}
