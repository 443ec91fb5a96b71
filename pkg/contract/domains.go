// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDomains bounds the failure domains of a cluster.
const maxDomains = 100

// Domain is a place that the machines of a cluster can be in and that can fail as a whole.
type Domain struct {
	Name string
	// ControlPlane, if it is said, is true where machines of the control plane may be.
	ControlPlane *bool
	// Attributes are what the provider tells of it.
	Attributes map[string]string
}

// FailureDomains are those that an infrastructure of a cluster offers, sorted by name: a list
// by the contract of v1beta2, a map by that of v1beta1.
func FailureDomains(o *object) ([]Domain, error) {
	path := []string{"status", "failureDomains"}
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return nil, fault(o, path, "%v", err)
	}
	if !found || value == nil {
		return nil, nil
	}
	entries := map[string]map[string]any{}
	if byName, old := value.(map[string]any); old {
		if len(byName) > maxDomains {
			return nil, fault(o, path, "%d entries are more than %d", len(byName), maxDomains)
		}
		for name, entry := range byName {
			of, ok := entry.(map[string]any)
			if !ok {
				return nil, fault(o, path, "entry %.80q is no object", name)
			}
			entries[name] = of
		}
	} else {
		list, err := objects(o, maxDomains, path...)
		if err != nil {
			return nil, err
		}
		for i, of := range list {
			name, _ := of["name"].(string)
			if name == "" || entries[name] != nil {
				return nil, fault(o, path, "entry %d has no name of its own", i)
			}
			entries[name] = of
		}
	}
	var all []Domain
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		d, err := domain(name, entries[name])
		if err != nil {
			return nil, fault(o, path, "entry %.80q: %v", name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func domain(name string, from map[string]any) (Domain, error) {
	d := Domain{Name: name}
	if len(name) > maxText {
		return d, fmt.Errorf("a name of %d characters is longer than %d", len(name), maxText)
	}
	if is, found, err := unstructured.NestedBool(from, "controlPlane"); err != nil {
		return d, err
	} else if found {
		d.ControlPlane = &is
	}
	attributes, _, err := unstructured.NestedStringMap(from, "attributes")
	if err != nil {
		return d, err
	}
	if len(attributes) > maxDomains || len(strings.Join(slices.Collect(maps.Values(attributes)), "")) > maxDomains*maxText {
		return d, fmt.Errorf("its attributes are too many or too long")
	}
	d.Attributes = attributes
	return d, nil
}
