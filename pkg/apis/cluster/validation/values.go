// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxConditions is the maximum number of conditions of an object (Cluster API's v1beta2, all kinds).
const maxConditions = 32

// validateMeta checks the metadata of a new object.
func validateMeta(meta *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// validateMetaUpdate checks a change of metadata.
func validateMetaUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}

// validateEnum checks that value is unset or allowed.
func validateEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// validateRequiredEnum checks that value is set and allowed.
func validateRequiredEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be one of %v", allowed))}
	}
	return validateEnum(value, path, allowed...)
}

// validateNotNegative checks an optional number.
func validateNotNegative(value *int32, path *field.Path) field.ErrorList {
	if value == nil || *value >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "must be 0 or more")}
}

// validateConditions checks the conditions of a status and their number.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	if len(conditions) > maxConditions {
		return field.ErrorList{field.TooMany(path, len(conditions), maxConditions)}
	}
	return metav1validation.ValidateConditions(conditions, path)
}

// validateName checks an optional object name.
func validateName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return invalid(name, path, apivalidation.NameIsDNSSubdomain(name, false))
}

// validateLabelName checks the name of an object that is also used as a label value.
func validateLabelName(name string, path *field.Path) field.ErrorList {
	return append(invalid(name, path, validation.IsDNS1123Subdomain(name)), invalid(name, path, validation.IsValidLabelValue(name))...)
}

// validateClusterName checks the required name of a Cluster.
func validateClusterName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must be the name of a Cluster in the namespace")}
	}
	return validateLabelName(name, path)
}

// validateImmutable checks that a value does not change.
func validateImmutable(value, old string, path *field.Path) field.ErrorList {
	if value == old {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "is immutable; must stay "+old)}
}

// validateAmount checks an optional number or percentage.
func validateAmount(amount *intstr.IntOrString, path *field.Path) field.ErrorList {
	if amount == nil {
		return nil
	}
	switch {
	case amount.Type == intstr.Int && amount.IntVal < 0:
		return field.ErrorList{field.Invalid(path, amount.IntVal, "must be 0 or more, or a percentage such as 25%")}
	case amount.Type == intstr.String && len(validation.IsValidPercent(amount.StrVal)) > 0:
		return field.ErrorList{field.Invalid(path, amount.StrVal, "must be a number that is 0 or more, or a percentage such as 25%")}
	case amount.Type == intstr.String && len(amount.StrVal) > len("9999%"):
		return field.ErrorList{field.Invalid(path, amount.StrVal, "must be at most 9999%")}
	}
	return nil
}

// validateSelector checks an optional label selector.
func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateConditionType checks a required condition type.
func validateConditionType(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "must be the type of a condition")}
	}
	return invalid(value, path, validation.IsQualifiedName(value))
}

// invalid converts messages about a value to errors.
func invalid(value string, path *field.Path, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
