// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// selectableFields lists the supported field selectors of each kind, in addition to metadata.name and
// metadata.namespace.
var selectableFields = map[string][]string{
	"VirtualMachine": {
		"spec.powerState",
		"status.powerState",
		"status.phase",
		"status.nodeName",
		"status.instancetypeRef.name",
		"status.instancetypeRef.outdated",
		"status.preferenceRef.outdated",
	},
	"VirtualMachineInstance": {
		"status.phase",
		"status.nodeName",
	},
	"VCenter":                      nil,
	"Zone":                         nil,
	"ContentLibrary":               nil,
	"VirtualMachineImageCache":     nil,
	"VirtualMachinePublishRequest": nil,
	"VirtualMachineSnapshot":       {"spec.vmName"},
	"VirtualMachineGroup":          nil,
	"VirtualMachineTemplate":       nil,
	"SlipwayCluster":               nil,
	"VirtualMachineClass":          nil,
	"VirtualMachineImage":          nil,
	"ClusterVirtualMachineImage":   nil,
}

// addFieldLabelConversionFuncs registers the fields of selectableFields.
func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	for kind, fields := range selectableFields {
		allowed := append([]string{"metadata.name", "metadata.namespace"}, fields...)
		err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind),
			func(label, value string) (string, string, error) {
				for _, field := range allowed {
					if label == field {
						return label, value, nil
					}
				}
				return "", "", fmt.Errorf("field label %q is not supported for %s: allowed are %s",
					label, kind, strings.Join(allowed, ", "))
			})
		if err != nil {
			return fmt.Errorf("registering the field labels of %s: %w", kind, err)
		}
	}
	return nil
}

// addConversionFuncs registers the conversion of query parameters to options.
func addConversionFuncs(scheme *runtime.Scheme) error {
	return scheme.AddConversionFunc((*url.Values)(nil), (*ExpandOptions)(nil), func(from, to any, _ conversion.Scope) error {
		to.(*ExpandOptions).Generation = from.(*url.Values).Get("generation")
		return nil
	})
}
