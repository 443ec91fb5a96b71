// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"math"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
)

// onlyCoresThreadsRatio is the only valid ratio for CoresThreads, because a core has two threads.
const onlyCoresThreadsRatio = 2

// ValidatePreferenceSpec checks the spec of a preference of either scope.
func ValidatePreferenceSpec(spec *itv1alpha1.VirtualMachinePreferenceSpec, path *field.Path) field.ErrorList {
	errs := validateTopology(spec, path)
	if spec.Clock != nil {
		errs = append(errs, validateClock(spec.Clock, path.Child("clock"))...)
	}
	if spec.Devices != nil {
		errs = append(errs, validateDevicePreferences(spec.Devices, path.Child("devices"))...)
	}
	if spec.Features != nil && spec.Features.PreferredHyperv != nil {
		errs = append(errs, validateHyperv(spec.Features.PreferredHyperv, path.Child("features", "preferredHyperv"))...)
	}
	if spec.Volumes != nil && spec.Volumes.PreferredStorageClassName != "" {
		errs = append(errs, validateName(spec.Volumes.PreferredStorageClassName, path.Child("volumes", "preferredStorageClassName"))...)
	}
	if spec.PreferredSubdomain != nil && *spec.PreferredSubdomain != "" {
		errs = append(errs, validateName(*spec.PreferredSubdomain, path.Child("preferredSubdomain"))...)
	}
	if seconds := spec.PreferredTerminationGracePeriodSeconds; seconds != nil {
		errs = append(errs, validateRange(*seconds, 0, math.MaxInt32, path.Child("preferredTerminationGracePeriodSeconds"))...)
	}
	if spec.Requirements != nil {
		errs = append(errs, validateRequirements(spec.Requirements, path.Child("requirements"))...)
	}
	errs = append(errs, validateLaunchSecurity(spec.PreferredLaunchSecurity, path.Child("preferredLaunchSecurity"))...)
	return append(errs, apivalidation.ValidateAnnotations(spec.Annotations, path.Child("annotations"))...)
}

// validateTopology checks the vCPU topology.
func validateTopology(spec *itv1alpha1.VirtualMachinePreferenceSpec, path *field.Path) field.ErrorList {
	legacyPath := path.Child("preferSpreadSocketToCoreRatio")
	errs := validateRange(int64(spec.PreferSpreadSocketToCoreRatio), 0, limits.MaxVCPUs, legacyPath)
	if spec.CPU == nil {
		return errs
	}
	path = path.Child("cpu")
	if spec.CPU.PreferredCPUTopology != nil {
		errs = append(errs, validateEnum(*spec.CPU.PreferredCPUTopology, path.Child("preferredCPUTopology"),
			itv1alpha1.Sockets, itv1alpha1.Cores, itv1alpha1.Threads, itv1alpha1.Spread, itv1alpha1.Any,
			itv1alpha1.DeprecatedPreferSockets, itv1alpha1.DeprecatedPreferCores, itv1alpha1.DeprecatedPreferThreads,
			itv1alpha1.DeprecatedPreferSpread, itv1alpha1.DeprecatedPreferAny)...)
	}
	if spread := spec.CPU.SpreadOptions; spread != nil {
		spreadPath := path.Child("spreadOptions")
		if spread.Across != nil {
			errs = append(errs, validateEnum(*spread.Across, spreadPath.Child("across"),
				itv1alpha1.SpreadAcrossSocketsCoresThreads, itv1alpha1.SpreadAcrossSocketsCores,
				itv1alpha1.SpreadAcrossCoresThreads)...)
		}
		if spread.Ratio != nil {
			errs = append(errs, validateRange(int64(*spread.Ratio), 1, limits.MaxVCPUs, spreadPath.Child("ratio"))...)
		}
		errs = append(errs, validateCoresThreads(spec, spreadPath.Child("ratio"), legacyPath)...)
	}
	return append(errs, validateCPUFeatures(spec.CPU.PreferredCPUFeatures, path.Child("preferredCPUFeatures"))...)
}

// validateCoresThreads rejects a ratio other than 2 for CoresThreads in any field that defines the ratio.
func validateCoresThreads(spec *itv1alpha1.VirtualMachinePreferenceSpec, path, legacyPath *field.Path) field.ErrorList {
	spread := spec.CPU.SpreadOptions
	topology := spec.CPU.PreferredCPUTopology
	if spread.Across == nil || *spread.Across != itv1alpha1.SpreadAcrossCoresThreads || topology == nil ||
		(*topology != itv1alpha1.Spread && *topology != itv1alpha1.DeprecatedPreferSpread) {
		return nil
	}
	const allowed = "must be 2 across CoresThreads, because a core has two threads"
	if spread.Ratio != nil {
		if *spread.Ratio != onlyCoresThreadsRatio {
			return field.ErrorList{field.Invalid(path, *spread.Ratio, allowed)}
		}
		return nil
	}
	if legacy := spec.PreferSpreadSocketToCoreRatio; legacy != 0 && legacy != onlyCoresThreadsRatio {
		return field.ErrorList{field.Invalid(legacyPath, legacy, allowed)}
	}
	return nil
}

// validateCPUFeatures checks the names and policies of CPU features.
func validateCPUFeatures(features []itv1alpha1.CPUFeature, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, feature := range features {
		namePath := path.Index(i).Child("name")
		switch {
		case feature.Name == "":
			errs = append(errs, field.Required(namePath, "must name a CPU feature"))
		case seen.Has(feature.Name):
			errs = append(errs, field.Duplicate(namePath, feature.Name))
		}
		seen.Insert(feature.Name)
		errs = append(errs, validateOptionalEnum(feature.Policy, path.Index(i).Child("policy"),
			"force", "require", "optional", "disable", "forbid")...)
	}
	return errs
}

// validateRequirements checks the minimum resources of a guest.
func validateRequirements(requirements *itv1alpha1.PreferenceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if requirements.CPU != nil {
		errs = append(errs, validateVCPUs(requirements.CPU.Guest, path.Child("cpu", "guest"))...)
	}
	if requirements.Memory != nil {
		guest := requirements.Memory.Guest
		if guest.Sign() <= 0 {
			errs = append(errs, field.Invalid(path.Child("memory", "guest"), guest.String(), "must be greater than 0"))
		}
	}
	if requirements.Architecture != nil && *requirements.Architecture == "" {
		errs = append(errs, field.Invalid(path.Child("architecture"), "", "must name an architecture, for example amd64; omit the field if it does not matter"))
	}
	return errs
}
