// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// applyPreference fills what is unset. It never overwrites and never fails.
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

// fillClock sets the guest's clock where guest customization can.
func fillClock(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.ClockPreferences) {
	if pref == nil || pref.PreferredClockOffset == nil || spec.Bootstrap == nil || spec.Bootstrap.LinuxPrep == nil {
		return
	}
	prep := spec.Bootstrap.LinuxPrep
	// A clock of which either part is set keeps its other part as it is.
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

// Unapplied names what a preference asks for that cannot reach the guest of a virtual
// machine as its spec is; empty when there is nothing. What never can is warned of
// when the preference is stored.
func Unapplied(spec *vmv1alpha1.VirtualMachineSpec, pref *itv1alpha1.VirtualMachinePreferenceSpec) string {
	if pref.Clock == nil || pref.Clock.PreferredClockOffset == nil || pref.Clock.PreferredClockOffset.Timezone == nil ||
		spec.Bootstrap != nil && spec.Bootstrap.LinuxPrep != nil {
		return ""
	}
	return fmt.Sprintf("clock.preferredClockOffset.timezone %s (needs bootstrap.linuxPrep)", *pref.Clock.PreferredClockOffset.Timezone)
}

// fillMachine takes the hardware version from machine types like vmx-21; others
// belong to other hypervisors.
func fillMachine(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.MachinePreferences) {
	if pref == nil || spec.MinHardwareVersion != 0 {
		return
	}
	if version, ok := limits.HardwareVersion(pref.PreferredMachineType); ok {
		spec.MinHardwareVersion = version
	}
}

// fillBool copies value where nothing is set.
func fillBool(target **bool, value *bool) {
	if *target == nil && value != nil {
		v := *value
		*target = &v
	}
}
