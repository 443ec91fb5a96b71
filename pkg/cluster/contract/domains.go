// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// maxDomains is the maximum number of failure domains of a cluster.
const maxDomains = 100

// FailureDomains returns the failure domains of an infrastructure cluster, sorted by name. The field is a list in
// v1beta2 of the contract, and a map in v1beta1.
func FailureDomains(o *object) ([]clusterv1alpha1.FailureDomain, error) {
	path := []string{"status", "failureDomains"}
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return nil, fieldError(o, path, "%v", err)
	}
	if !found || value == nil {
		return nil, nil
	}
	entries := map[string]map[string]any{}
	if byName, old := value.(map[string]any); old {
		if len(byName) > maxDomains {
			return nil, fieldError(o, path, "%d entries are more than %d", len(byName), maxDomains)
		}
		for name, entry := range byName {
			fields, ok := entry.(map[string]any)
			if !ok {
				return nil, fieldError(o, path, "entry %.80q is not an object", name)
			}
			entries[name] = fields
		}
	} else {
		list, err := objectList(o, maxDomains, path...)
		if err != nil {
			return nil, err
		}
		for i, fields := range list {
			name, _ := fields["name"].(string)
			if name == "" || entries[name] != nil {
				return nil, fieldError(o, path, "entry %d must have a unique name", i)
			}
			entries[name] = fields
		}
	}
	var all []clusterv1alpha1.FailureDomain
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		d, err := parseFailureDomain(name, entries[name])
		if err != nil {
			return nil, fieldError(o, path, "entry %.80q: %v", name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func parseFailureDomain(name string, from map[string]any) (clusterv1alpha1.FailureDomain, error) {
	d := clusterv1alpha1.FailureDomain{Name: name}
	if controlPlane, found, err := unstructured.NestedBool(from, "controlPlane"); err != nil {
		return d, err
	} else if found {
		d.ControlPlane = &controlPlane
	}
	attributes, _, err := unstructured.NestedStringMap(from, "attributes")
	if err != nil {
		return d, err
	}
	d.Attributes = attributes
	// The API server would reject the whole status because of one invalid failure domain.
	return d, bounds.ValidateSpec(&d, nil).ToAggregate()
}
