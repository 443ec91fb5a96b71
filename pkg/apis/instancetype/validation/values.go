// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateEnum checks that value is allowed.
func validateEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// validateOptionalEnum checks that value is unset or allowed.
func validateOptionalEnum[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" {
		return nil
	}
	return validateEnum(value, path, allowed...)
}

// validateRange checks that least <= value <= most.
func validateRange(value, least, most int64, path *field.Path) field.ErrorList {
	if value < least || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from %d to %d", least, most))}
	}
	return nil
}

// validateAtLeast checks that value >= least.
func validateAtLeast(value, least int64, path *field.Path) field.ErrorList {
	if value < least {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be at least %d", least))}
	}
	return nil
}

// validateAtMostOne checks that at most one of the fields of path is set.
func validateAtMostOne(set []string, path *field.Path) field.ErrorList {
	if len(set) > 1 {
		return field.ErrorList{field.Invalid(path, strings.Join(set, ", "), "at most one of these fields may be set")}
	}
	return nil
}

// validateName checks the name of another object.
func validateName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}
