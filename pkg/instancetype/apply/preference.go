// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// applyPreference sets unset fields. It never overwrites values and never fails.
func applyPreference(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	vm *vmv1alpha1.VirtualMachine,
	pref *itv1alpha1.VirtualMachinePreferenceSpec,
) {
	fillClock(spec, pref.Clock)
	fillDevices(spec, pref.Devices)
	fillDisks(spec, pref.Devices)
	fillInterfaces(spec, pref.Devices)
	fillFirmware(spec, pref.Firmware)
	fillMachine(spec, pref.Machine)
	if pref.Volumes != nil && spec.StorageClass == "" {
		spec.StorageClass = pref.Volumes.PreferredStorageClassName
	}
	if pref.PreferredSubdomain != nil && spec.Network != nil && spec.Network.DomainName == "" {
		spec.Network.DomainName = *pref.PreferredSubdomain
	}
	if pref.PreferredTerminationGracePeriodSeconds != nil && spec.TerminationGracePeriodSeconds == nil {
		seconds := *pref.PreferredTerminationGracePeriodSeconds
		spec.TerminationGracePeriodSeconds = &seconds
	}
	fillAnnotations(spec, vm.Annotations, pref)
}

// fillClock sets the guest's clock if guest customization supports this.
func fillClock(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.ClockPreferences) {
	if pref == nil || pref.PreferredClockOffset == nil || spec.Bootstrap == nil || spec.Bootstrap.LinuxPrep == nil {
		return
	}
	prep := spec.Bootstrap.LinuxPrep
	// If one part of the clock is set, the other part is not changed.
	if prep.TimeZone != "" || prep.HardwareClockIsUTC != nil {
		return
	}
	if zone := pref.PreferredClockOffset.Timezone; zone != nil {
		prep.TimeZone = string(*zone)
	}
	if pref.PreferredClockOffset.UTC != nil {
		utc := true
		prep.HardwareClockIsUTC = &utc
	}
}

// UnappliedClockOffset returns the field of a preference that cannot be applied with the given spec; empty if there is none. For
// fields that can never be applied, there is a warning when the preference is stored.
func UnappliedClockOffset(spec *vmv1alpha1.VirtualMachineSpec, pref *itv1alpha1.VirtualMachinePreferenceSpec) string {
	if pref.Clock == nil || pref.Clock.PreferredClockOffset == nil || pref.Clock.PreferredClockOffset.Timezone == nil ||
		spec.Bootstrap != nil && spec.Bootstrap.LinuxPrep != nil {
		return ""
	}
	return fmt.Sprintf("clock.preferredClockOffset.timezone %s (needs bootstrap.linuxPrep)", *pref.Clock.PreferredClockOffset.Timezone)
}

// fillMachine sets the hardware version from a machine type such as vmx-21. Other machine types are ignored.
func fillMachine(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.MachinePreferences) {
	if pref == nil || spec.MinHardwareVersion != 0 {
		return
	}
	if version, ok := limits.ParseHardwareVersion(pref.PreferredMachineType); ok {
		spec.MinHardwareVersion = version
	}
}

// fillBool copies value if target is not set.
func fillBool(target **bool, value *bool) {
	if *target == nil && value != nil {
		v := *value
		*target = &v
	}
}
