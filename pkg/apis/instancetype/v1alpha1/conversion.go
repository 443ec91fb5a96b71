// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// addDefaultingFuncs registers the generated defaulting functions.
func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// addFieldLabelConversionFuncs registers the supported field selectors of all kinds of this group.
func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	for _, kind := range []string{
		"ControllerRevision",
		"VirtualMachineInstancetype",
		"VirtualMachineClusterInstancetype",
		"VirtualMachinePreference",
		"VirtualMachineClusterPreference",
	} {
		gvk := SchemeGroupVersion.WithKind(kind)
		if err := scheme.AddFieldLabelConversionFunc(gvk, convertFieldLabel); err != nil {
			return fmt.Errorf("registering the field labels of %s: %w", kind, err)
		}
	}
	return nil
}

// convertFieldLabel returns an error for a field label that is not supported.
func convertFieldLabel(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace":
		return label, value, nil
	default:
		return "", "", fmt.Errorf("field label %q is not supported: allowed are metadata.name, metadata.namespace", label)
	}
}
