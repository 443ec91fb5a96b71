// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// restartNow is the value of nextRestartTime that the server replaces with the current time.
const restartNow = "now"

// maxDeletionTimeout is the maximum time that a deletion waits for a guest, in seconds: one day.
const maxDeletionTimeout = 24 * 60 * 60

// powerOpModes are the supported modes of power operations.
var powerOpModes = []vmv1alpha1.PowerOpMode{vmv1alpha1.PowerOpModeHard, vmv1alpha1.PowerOpModeSoft, vmv1alpha1.PowerOpModeTrySoft}

// powerStates are the supported power states.
var powerStates = []vmv1alpha1.PowerState{vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended}

// validateSizeSource checks that exactly one source defines the size: className, instancetype, or cpu and memory.
func validateSizeSource(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	switch {
	case spec.ClassName != "" && spec.Instancetype != nil:
		return field.ErrorList{field.Forbidden(path.Child("instancetype"), fmt.Sprintf(
			"may not be set together with %s %q: exactly one of className, instancetype, or cpu and memory must define the size",
			path.Child("className"), spec.ClassName))}
	case spec.ClassName != "":
		var errs field.ErrorList
		if spec.CPU != nil {
			errs = append(errs, field.Forbidden(path.Child("cpu"), fmt.Sprintf("may not be set together with className %q, which defines the size", spec.ClassName)))
		}
		if spec.Memory != nil {
			errs = append(errs, field.Forbidden(path.Child("memory"), fmt.Sprintf("may not be set together with className %q, which defines the size", spec.ClassName)))
		}
		return errs
	case spec.Instancetype != nil:
		return validateNoInlineSize(spec, path)
	default:
		return validateInlineSize(spec, path)
	}
}

// validateNoInlineSize rejects an inline size in addition to an instance type. Other settings, such as reservations,
// are allowed; the instance type determines whether they conflict. An inline size is allowed as a fallback if the
// inference can fail with the policy Ignore.
func validateNoInlineSize(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	matcher := spec.Instancetype
	if matcher.InferFromVolume != "" && matcher.InferFromVolumeFailurePolicy != nil &&
		*matcher.InferFromVolumeFailurePolicy == vmv1alpha1.InferFromVolumeFailureIgnore {
		return nil
	}
	const detail = "may not be set together with instancetype, which defines the size"
	var errs field.ErrorList
	if cpu := spec.CPU; cpu != nil {
		for _, f := range []struct {
			name  string
			value int32
		}{{"sockets", cpu.Sockets}, {"cores", cpu.Cores}, {"threads", cpu.Threads}} {
			if f.value != 0 {
				errs = append(errs, field.Forbidden(path.Child("cpu", f.name), detail))
			}
		}
	}
	if spec.Memory != nil && spec.Memory.Guest != nil {
		errs = append(errs, field.Forbidden(path.Child("memory", "guest"), detail))
	}
	return errs
}

// validateInlineSize checks that cpu and memory define a size.
func validateInlineSize(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	if spec.CPU == nil && spec.Memory == nil {
		return field.ErrorList{field.Required(path, "one of className, instancetype, or cpu and memory must define the size")}
	}
	var errs field.ErrorList
	if spec.CPU == nil {
		errs = append(errs, field.Required(path.Child("cpu"), "must be set together with memory"))
	} else {
		errs = append(errs, validateCPUGiven(spec.CPU, path.Child("cpu"))...)
	}
	if spec.Memory == nil {
		errs = append(errs, field.Required(path.Child("memory"), "must be set together with cpu"))
	} else {
		errs = append(errs, validateMemoryGiven(spec.Memory, path.Child("memory"))...)
	}
	return errs
}

// validatePower checks the power state, modes, restart time and strategies.
func validatePower(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	errs := validateEnum(spec.PowerState, path.Child("powerState"), powerStates...)
	errs = append(errs, validateEnum(spec.PowerOffMode, path.Child("powerOffMode"), powerOpModes...)...)
	errs = append(errs, validateEnum(spec.SuspendMode, path.Child("suspendMode"), powerOpModes...)...)
	errs = append(errs, validateEnum(spec.RestartMode, path.Child("restartMode"), powerOpModes...)...)
	errs = append(errs, validateEnum(spec.UpdateStrategy, path.Child("updateStrategy"),
		vmv1alpha1.UpdateStrategyLiveUpdate, vmv1alpha1.UpdateStrategyStage)...)
	errs = append(errs, validateEnum(spec.PromoteDisksMode, path.Child("promoteDisksMode"),
		vmv1alpha1.PromoteDisksModeOnline, vmv1alpha1.PromoteDisksModeOffline, vmv1alpha1.PromoteDisksModeDisabled)...)
	errs = append(errs, validateEnum(ptr.Deref(spec.PowerPolicy, ""), path.Child("powerPolicy"), vmv1alpha1.PowerPolicyAlways, vmv1alpha1.PowerPolicyOnFailure, vmv1alpha1.PowerPolicyManual)...)
	errs = append(errs, validateEnum(spec.WhenMissing, path.Child("whenMissing"), vmv1alpha1.WhenMissingWait, vmv1alpha1.WhenMissingRecreate)...)
	if seconds := spec.TerminationGracePeriodSeconds; seconds != nil {
		errs = append(errs, validateRange(*seconds, 0, math.MaxInt32, path.Child("terminationGracePeriodSeconds"))...)
	}
	if d := spec.Deletion; d != nil {
		errs = append(errs, validateEnum(d.PowerOffMode, path.Child("deletion", "powerOffMode"), powerOpModes...)...)
		if d.TimeoutSeconds != 0 {
			errs = append(errs, validateRange(d.TimeoutSeconds, 1, maxDeletionTimeout, path.Child("deletion", "timeoutSeconds"))...)
		}
	}
	if next := spec.NextRestartTime; next != "" && next != restartNow {
		errs = append(errs, validateTime(next, `"now" is also allowed`, path.Child("nextRestartTime"))...)
	}
	return errs
}
