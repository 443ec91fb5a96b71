// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// maxChecks is the maximum number of annotations of a virtual machine that block the same operation.
	maxChecks = 16
	// maxCheckReason is the maximum length of the value of such an annotation, in bytes. A condition message contains
	// several.
	maxCheckReason = 256
)

// validateChecks checks the annotations that block an operation, except those that did not change.
func validateChecks(annotations, old map[string]string) field.ErrorList {
	path := field.NewPath("metadata", "annotations")
	var errs field.ErrorList
	for _, prefix := range []string{vmv1alpha1.CheckPowerOnPrefix, vmv1alpha1.CheckDeletePrefix} {
		all, added := 0, false
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			all++
			before, had := old[key]
			added = added || !had
			if value := annotations[key]; len(value) > maxCheckReason && (!had || before != value) {
				errs = append(errs, field.TooLong(path.Key(key), "", maxCheckReason))
			}
		}
		if added && all > maxChecks {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("at most %d annotations may begin with %s: got %d", maxChecks, prefix, all)))
		}
	}
	return errs
}
