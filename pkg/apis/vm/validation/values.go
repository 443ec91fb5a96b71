// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
)

// uuidFormat is the canonical form of a UUID.
var uuidFormat = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// validateEnum checks that value is unset or allowed.
func validateEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// validateConditions checks the conditions of a status and their number.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	if len(conditions) > bounds.MaxItems {
		return field.ErrorList{field.TooMany(path, len(conditions), bounds.MaxItems)}
	}
	return metav1validation.ValidateConditions(conditions, path)
}

// validateRange checks that least <= value <= most.
func validateRange(value, least, most int64, path *field.Path) field.ErrorList {
	if value < least || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from %d to %d", least, most))}
	}
	return nil
}

// validateName checks an optional object name.
func validateName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return invalid(name, path, apivalidation.NameIsDNSSubdomain(name, false))
}

// validateRequiredName checks a required object name.
func validateRequiredName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must be the name of an object")}
	}
	return validateName(name, path)
}

// validateItemName checks the name of a list entry and adds it to seen.
func validateItemName(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must be a name that is unique in the list")}
	}
	if seen.Has(name) {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen.Insert(name)
	return invalid(name, path, apivalidation.NameIsDNSLabel(name, false))
}

// invalid converts messages about a value to errors.
func invalid(value string, path *field.Path, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// validateQuantity checks that an optional quantity is a whole number of units, from least to most. All arguments are
// in the base unit. allowed is the error message.
func validateQuantity(quantity *resource.Quantity, unit, least, most int64, allowed string, path *field.Path) field.ErrorList {
	if quantity == nil {
		return nil
	}
	if value, ok := limits.WholeNumber(*quantity, least, most); !ok || value%unit != 0 {
		return field.ErrorList{field.Invalid(path, quantity.String(), allowed)}
	}
	return nil
}

// validateOrder checks that low is not greater than high if both are set. highName is the name of high in the error.
func validateOrder(low, high *resource.Quantity, highName string, path *field.Path) field.ErrorList {
	if low == nil || high == nil || low.Cmp(*high) <= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, low.String(), fmt.Sprintf("must be at most %s, %s", highName, high.String()))}
}

// validateTime checks an RFC 3339 time. alsoAllowed describes additional allowed values and can be empty.
func validateTime(value, alsoAllowed string, path *field.Path) field.ErrorList {
	if _, ok := limits.ParseTime(value); ok {
		return nil
	}
	allowed := limits.AllowedTime
	if alsoAllowed != "" {
		allowed += "; " + alsoAllowed
	}
	return field.ErrorList{field.Invalid(path, value, allowed)}
}

// validateUUID checks an optional UUID in canonical form.
func validateUUID(value string, path *field.Path) field.ErrorList {
	if value == "" || uuidFormat.MatchString(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a UUID, for example 420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d")}
}

// validateImmutable checks that a value does not change once it is set.
func validateImmutable(value, old string, path *field.Path) field.ErrorList {
	if old == "" || value == old {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "is immutable once set; must stay "+old)}
}
