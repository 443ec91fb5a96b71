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

// maxConditions is the most conditions of an object (Cluster API's v1beta2, all kinds).
const maxConditions = 32

// validateMeta checks the metadata of a new object.
func validateMeta(meta *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// validateMetaUpdate checks the change of the metadata of an object.
func validateMetaUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}

// validateEnum checks that value is unset or one of those allowed.
func validateEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// validateRequiredEnum checks that value is one of those allowed.
func validateRequiredEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be one of %v", allowed))}
	}
	return validateEnum(value, path, allowed...)
}

// validateNotNegative checks an optional amount.
func validateNotNegative(value *int32, path *field.Path) field.ErrorList {
	if value == nil || *value >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "must be 0 or more")}
}

// validateConditions checks the conditions of a status, of which there are not too many.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	if len(conditions) > maxConditions {
		return field.ErrorList{field.TooMany(path, len(conditions), maxConditions)}
	}
	return metav1validation.ValidateConditions(conditions, path)
}

// validateName checks the name of another object, if there is one.
func validateName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return invalid(name, path, apivalidation.NameIsDNSSubdomain(name, false))
}

// validateLabelName checks the name of an object that is the value of a label, too.
func validateLabelName(name string, path *field.Path) field.ErrorList {
	return append(invalid(name, path, validation.IsDNS1123Subdomain(name)), invalid(name, path, validation.IsValidLabelValue(name))...)
}

// validateClusterName checks the name of a Cluster, which must be given.
func validateClusterName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must be the name of a Cluster of the namespace")}
	}
	return validateLabelName(name, path)
}

// validateImmutable checks that a text stays.
func validateImmutable(value, old string, path *field.Path) field.ErrorList {
	if value == old {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "is immutable; must stay "+old)}
}

// validateAmount checks an optional number or share in percent.
func validateAmount(amount *intstr.IntOrString, path *field.Path) field.ErrorList {
	if amount == nil {
		return nil
	}
	switch {
	case amount.Type == intstr.Int && amount.IntVal < 0:
		return field.ErrorList{field.Invalid(path, amount.IntVal, "must be 0 or more, or a share in percent such as 25%")}
	case amount.Type == intstr.String && len(validation.IsValidPercent(amount.StrVal)) > 0:
		return field.ErrorList{field.Invalid(path, amount.StrVal, "must be a number that is 0 or more, or a share in percent such as 25%")}
	case amount.Type == intstr.String && len(amount.StrVal) > len("9999%"):
		return field.ErrorList{field.Invalid(path, amount.StrVal, "must be at most 9999%")}
	}
	return nil
}

// validateSelector checks a selector by labels, if there is one.
func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateConditionType checks the type of a condition, which must be given.
func validateConditionType(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "must be the type of a condition")}
	}
	return invalid(value, path, validation.IsQualifiedName(value))
}

// invalid turns messages about one value into errors.
func invalid(value string, path *field.Path, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
