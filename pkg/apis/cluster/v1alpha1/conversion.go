// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// selectableFields lists the supported field selectors of each kind, in addition to metadata.name and
// metadata.namespace.
var selectableFields = map[string][]string{
	"Cluster":            nil,
	"Machine":            {"spec.clusterName", "spec.providerID", "status.nodeRef.name"},
	"MachineSet":         {"spec.clusterName"},
	"MachineDeployment":  {"spec.clusterName"},
	"MachineHealthCheck": {"spec.clusterName"},
	"MachineDrainRule":   nil,
}

// addFieldLabelConversionFuncs registers the fields of selectableFields.
func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	for kind, fields := range selectableFields {
		allowed := append([]string{"metadata.name", "metadata.namespace"}, fields...)
		err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind),
			func(label, value string) (string, string, error) {
				if slices.Contains(allowed, label) {
					return label, value, nil
				}
				return "", "", fmt.Errorf("field label %q is not supported for %s: allowed are %s", label, kind, strings.Join(allowed, ", "))
			})
		if err != nil {
			return fmt.Errorf("registering the field labels of %s: %w", kind, err)
		}
	}
	return nil
}

// addDefaultingFuncs registers the generated defaulting functions.
func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}
