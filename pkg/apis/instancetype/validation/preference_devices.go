// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

const (
	// minSpinlockRetries is the minimum number of spinlock retries in Hyper-V.
	minSpinlockRetries = 4096
	// maxVendorID is the length of a Hyper-V vendor string in characters. The string fills three CPU registers.
	maxVendorID = 12
	// minBlockSize and maxBlockSize are the limits of the block size of a disk, in bytes.
	minBlockSize = 512
	maxBlockSize = 2 << 20
)

// diskBuses are the buses of KubeVirt and the disk controllers of vSphere.
var diskBuses = []itv1alpha1.DiskBus{
	itv1alpha1.DiskBusSCSI, itv1alpha1.DiskBusSATA, itv1alpha1.DiskBusVirtio, itv1alpha1.DiskBusUSB,
	itv1alpha1.DiskBusNVME, "pvscsi", "lsilogic", "lsilogicsas", "ide",
}

// foreignModels are the KubeVirt adapter models that vSphere does not support.
var foreignModels = []string{"igb", "ne2k_pci", "pcnet", "rtl8139"}

// interfaceModels are the adapter models of vSphere, virtio, which means vmxnet3, and the foreign models.
var interfaceModels = append([]string{"vmxnet3", "e1000e", "e1000", "sriov", "virtio"}, foreignModels...)

// validateDevicePreferences checks the preferred virtual devices.
func validateDevicePreferences(devices *itv1alpha1.DevicePreferences, path *field.Path) field.ErrorList {
	errs := validateOptionalEnum(devices.PreferredInputBus, path.Child("preferredInputBus"),
		itv1alpha1.InputBusUSB, itv1alpha1.InputBusVirtio)
	errs = append(errs, validateOptionalEnum(devices.PreferredInputType, path.Child("preferredInputType"),
		itv1alpha1.InputTypeTablet, itv1alpha1.InputTypeKeyboard)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredDiskBus, path.Child("preferredDiskBus"), diskBuses...)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredLunBus, path.Child("preferredLunBus"), diskBuses...)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredCdromBus, path.Child("preferredCdromBus"), diskBuses...)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredDiskCache, path.Child("preferredDiskCache"),
		itv1alpha1.CacheNone, itv1alpha1.CacheWriteThrough, itv1alpha1.CacheWriteBack)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredDiskIO, path.Child("preferredDiskIO"),
		itv1alpha1.IODefault, itv1alpha1.IONative, itv1alpha1.IOThreads)...)
	errs = append(errs, validateOptionalEnum(devices.PreferredInterfaceModel, path.Child("preferredInterfaceModel"), interfaceModels...)...)
	if devices.PreferredPanicDeviceModel != nil {
		errs = append(errs, validateEnum(*devices.PreferredPanicDeviceModel, path.Child("preferredPanicDeviceModel"),
			itv1alpha1.PanicDeviceModelHyperv, itv1alpha1.PanicDeviceModelISA, itv1alpha1.PanicDeviceModelPvpanic)...)
	}
	if devices.PreferredDiskBlockSize != nil {
		errs = append(errs, validateBlockSize(devices.PreferredDiskBlockSize, path.Child("preferredDiskBlockSize"))...)
	}
	return errs
}

// validateBlockSize checks the block size of disks.
func validateBlockSize(size *itv1alpha1.BlockSize, path *field.Path) field.ErrorList {
	if size.Custom == nil {
		return nil
	}
	var errs field.ErrorList
	if size.MatchVolume != nil {
		errs = validateAtMostOne([]string{"custom", "matchVolume"}, path)
	}
	path = path.Child("custom")
	logical, physical := size.Custom.Logical, size.Custom.Physical
	errs = append(errs, validateRange(logical, minBlockSize, maxBlockSize, path.Child("logical"))...)
	errs = append(errs, validateRange(physical, minBlockSize, maxBlockSize, path.Child("physical"))...)
	if logical > 0 && logical&(logical-1) != 0 {
		errs = append(errs, field.Invalid(path.Child("logical"), logical, "must be a power of 2"))
	}
	if physical > 0 && physical&(physical-1) != 0 {
		errs = append(errs, field.Invalid(path.Child("physical"), physical, "must be a power of 2"))
	}
	if logical > physical {
		errs = append(errs, field.Invalid(path.Child("logical"), logical, "must not be greater than physical"))
	}
	if granularity := size.Custom.DiscardGranularity; granularity != nil && logical > 0 && (*granularity < 0 || *granularity%logical != 0) {
		errs = append(errs, field.Invalid(path.Child("discardGranularity"), *granularity, "must be a multiple of logical"))
	}
	return errs
}

// validateClock checks the preferred clock.
func validateClock(clock *itv1alpha1.ClockPreferences, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if offset := clock.PreferredClockOffset; offset != nil {
		offsetPath := path.Child("preferredClockOffset")
		if offset.UTC != nil && offset.Timezone != nil {
			errs = append(errs, validateAtMostOne([]string{"utc", "timezone"}, offsetPath)...)
		}
		if offset.Timezone != nil && *offset.Timezone == "" {
			errs = append(errs, field.Required(offsetPath.Child("timezone"), "must name a time zone, for example Europe/Berlin"))
		}
	}
	timer := clock.PreferredTimer
	if timer == nil {
		return errs
	}
	path = path.Child("preferredTimer")
	if timer.HPET != nil {
		errs = append(errs, validateOptionalEnum(timer.HPET.TickPolicy, path.Child("hpet", "tickPolicy"),
			itv1alpha1.HPETTickPolicyDelay, itv1alpha1.HPETTickPolicyCatchup,
			itv1alpha1.HPETTickPolicyMerge, itv1alpha1.HPETTickPolicyDiscard)...)
	}
	if timer.PIT != nil {
		errs = append(errs, validateOptionalEnum(timer.PIT.TickPolicy, path.Child("pit", "tickPolicy"),
			itv1alpha1.PITTickPolicyDelay, itv1alpha1.PITTickPolicyCatchup, itv1alpha1.PITTickPolicyDiscard)...)
	}
	if timer.RTC != nil {
		errs = append(errs, validateOptionalEnum(timer.RTC.TickPolicy, path.Child("rtc", "tickPolicy"),
			itv1alpha1.RTCTickPolicyDelay, itv1alpha1.RTCTickPolicyCatchup)...)
		errs = append(errs, validateOptionalEnum(timer.RTC.Track, path.Child("rtc", "track"),
			itv1alpha1.RTCTimerTrackGuest, itv1alpha1.RTCTimerTrackWall)...)
	}
	return errs
}

// validateHyperv checks the enlightenments that have a value.
func validateHyperv(hyperv *itv1alpha1.FeatureHyperv, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if hyperv.Spinlocks != nil && hyperv.Spinlocks.Retries != nil {
		errs = append(errs, validateRange(*hyperv.Spinlocks.Retries, minSpinlockRetries, 1<<32-1, path.Child("spinlocks", "spinlocks"))...)
	}
	if hyperv.VendorID != nil && utf8.RuneCountInString(hyperv.VendorID.VendorID) > maxVendorID {
		errs = append(errs, field.TooLongMaxLength(path.Child("vendorid", "vendorid"), hyperv.VendorID.VendorID, maxVendorID))
	}
	return errs
}
