// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
)

// realtimeMask matches a list of vCPU numbers and ranges. A leading ^ excludes an entry.
var realtimeMask = regexp.MustCompile(`^\^?[0-9]+(-[0-9]+)?(,\^?[0-9]+(-[0-9]+)?)*$`)

// ValidateInstancetypeSpec checks the spec of an instance type of either scope.
func ValidateInstancetypeSpec(spec *itv1alpha1.VirtualMachineInstancetypeSpec, path *field.Path) field.ErrorList {
	errs := validateCPU(&spec.CPU, path.Child("cpu"))
	errs = append(errs, validateMemory(&spec.Memory, path.Child("memory"))...)
	errs = append(errs, validateDeviceNames(spec, path)...)
	if policy := spec.IOThreadsPolicy; policy != nil {
		errs = append(errs, validateEnum(*policy, path.Child("ioThreadsPolicy"),
			itv1alpha1.IOThreadsPolicyShared, itv1alpha1.IOThreadsPolicyAuto, itv1alpha1.IOThreadsPolicySupplementalPool)...)
	}
	if spec.IOThreads != nil && spec.IOThreads.SupplementalPoolThreadCount != nil {
		errs = append(errs, validateAtLeast(int64(*spec.IOThreads.SupplementalPoolThreadCount), 1,
			path.Child("ioThreads", "supplementalPoolThreadCount"))...)
	}
	if spec.SchedulerName != "" {
		errs = append(errs, validateName(spec.SchedulerName, path.Child("schedulerName"))...)
	}
	errs = append(errs, validateLaunchSecurity(spec.LaunchSecurity, path.Child("launchSecurity"))...)
	errs = append(errs, metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector"))...)
	return append(errs, apivalidation.ValidateAnnotations(spec.Annotations, path.Child("annotations"))...)
}

// validateCPU checks the vCPUs of an instance type.
func validateCPU(cpu *itv1alpha1.CPUInstancetype, path *field.Path) field.ErrorList {
	errs := validateVCPUs(cpu.Guest, path.Child("guest"))
	if cpu.MaxSockets != nil {
		errs = append(errs, validateRange(int64(*cpu.MaxSockets), 1, limits.MaxVCPUs, path.Child("maxSockets"))...)
	}
	if cpu.Realtime != nil && cpu.Realtime.Mask != "" && !realtimeMask.MatchString(cpu.Realtime.Mask) {
		errs = append(errs, field.Invalid(path.Child("realtime", "mask"), cpu.Realtime.Mask,
			`must be a list of vCPU numbers and ranges, ^ excluding one, for example "0-3,^1"`))
	}
	return errs
}

// validateVCPUs checks a required number of vCPUs.
func validateVCPUs(guest int32, path *field.Path) field.ErrorList {
	if guest == 0 {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be from 1 to %d", limits.MaxVCPUs))}
	}
	return validateRange(int64(guest), 1, limits.MaxVCPUs, path)
}

// validateMemory checks the memory of an instance type.
func validateMemory(memory *itv1alpha1.MemoryInstancetype, path *field.Path) field.ErrorList {
	errs := validateMemorySize(memory.Guest, path.Child("guest"))
	if memory.OvercommitPercent != 0 {
		errs = append(errs, validateRange(int64(memory.OvercommitPercent), 0, 100, path.Child("overcommitPercent"))...)
		if memory.Hugepages != nil {
			errs = append(errs, field.Forbidden(path.Child("overcommitPercent"),
				fmt.Sprintf("%d may not be set together with hugepages, whose memory is always reserved", memory.OvercommitPercent)))
		}
	}
	if memory.Hugepages != nil && memory.Hugepages.PageSize != "" {
		size, err := resource.ParseQuantity(memory.Hugepages.PageSize)
		if err != nil || size.Sign() <= 0 {
			errs = append(errs, field.Invalid(path.Child("hugepages", "pageSize"), memory.Hugepages.PageSize,
				"must be a size greater than 0, for example 2Mi or 1Gi"))
		}
	}
	if memory.MaxGuest != nil {
		maxPath := path.Child("maxGuest")
		errs = append(errs, validateMemorySize(*memory.MaxGuest, maxPath)...)
		if memory.MaxGuest.Cmp(memory.Guest) < 0 {
			errs = append(errs, field.Invalid(maxPath, memory.MaxGuest.String(), "must be at least guest, "+memory.Guest.String()))
		}
	}
	return errs
}

// validateMemorySize checks a required amount of memory.
func validateMemorySize(size resource.Quantity, path *field.Path) field.ErrorList {
	const allowed = "must be a whole number of bytes, from 4Mi to 24Ti; it is rounded up to a multiple of 4Mi"
	if size.IsZero() {
		return field.ErrorList{field.Required(path, allowed)}
	}
	if _, ok := limits.WholeNumber(size, limits.MemoryUnit, limits.MaxMemory); !ok {
		return field.ErrorList{field.Invalid(path, size.String(), allowed)}
	}
	return nil
}

// validateDeviceNames checks GPUs and host devices.
func validateDeviceNames(spec *itv1alpha1.VirtualMachineInstancetypeSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range spec.GPUs {
		gpu := &spec.GPUs[i]
		errs = append(errs, validateDevice(gpu.Name, gpu.DeviceName, gpu.ClaimName, names, path.Child("gpus").Index(i))...)
	}
	names = sets.New[string]()
	for i := range spec.HostDevices {
		device := &spec.HostDevices[i]
		errs = append(errs, validateDevice(device.Name, device.DeviceName, device.ClaimName, names, path.Child("hostDevices").Index(i))...)
	}
	return errs
}

// validateDevice checks a device and adds its name to seen.
func validateDevice(name, deviceName string, claimName *string, seen sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case name == "":
		errs = append(errs, field.Required(path.Child("name"), "must be a name that is unique in the list"))
	case seen.Has(name):
		errs = append(errs, field.Duplicate(path.Child("name"), name))
	}
	seen.Insert(name)
	if deviceName == "" && (claimName == nil || *claimName == "") {
		errs = append(errs, field.Required(path.Child("deviceName"), "must be set unless claimName is set"))
	}
	return errs
}

// validateLaunchSecurity checks that at most one technology is set.
func validateLaunchSecurity(security *itv1alpha1.LaunchSecurity, path *field.Path) field.ErrorList {
	if security == nil {
		return nil
	}
	var set []string
	if security.SEV != nil {
		set = append(set, "sev")
	}
	if security.SNP != nil {
		set = append(set, "snp")
	}
	if security.TDX != nil {
		set = append(set, "tdx")
	}
	return validateAtMostOne(set, path)
}
