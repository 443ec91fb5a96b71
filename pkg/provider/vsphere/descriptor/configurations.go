// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/ovf"
)

// keepDefaultConfiguration removes hardware and properties that belong only to other configurations than the
// default. The default applies to a deployment that does not choose a configuration: the configuration that is
// marked as default, otherwise the first one (DSP0243 9.8). It returns the IDs of the default configuration and of
// the others.
//
// An element lists its configurations separated by spaces. govmomi compares the list with one ID, so this function
// replaces the list.
func keepDefaultConfiguration(envelope *ovf.Envelope, vm *ovf.VirtualSystem) (chosen string, others []string) {
	if options := envelope.DeploymentOption; options != nil && len(options.Configuration) > 0 {
		all := options.Configuration
		at := max(0, slices.IndexFunc(all, func(c ovf.DeploymentOptionConfiguration) bool { return c.Default != nil && *c.Default }))
		chosen = all[at].ID
		for i := range all {
			if i != at {
				others = append(others, all[i].ID)
			}
		}
	}
	for i := range vm.VirtualHardware {
		section := &vm.VirtualHardware[i]
		section.Item = slices.DeleteFunc(slices.Clone(section.Item), func(item ovf.ResourceAllocationSettingData) bool { return !applies(item.Configuration, chosen) })
		for n := range section.Item {
			section.Item[n].Configuration = nil
		}
	}
	for i := range vm.Product {
		product := &vm.Product[i]
		product.Items = slices.DeleteFunc(slices.Clone(product.Items), func(item ovf.ProductSectionItem) bool {
			return item.Property != nil && !applies(item.Property.Configuration, chosen)
		})
		for n := range product.Items {
			if p := product.Items[n].Property; p != nil {
				product.Items[n].Property = defaultOf(p, chosen)
			}
		}
	}
	return chosen, others
}

// defaultOf returns the property with the values of the configuration.
func defaultOf(p *ovf.Property, configuration string) *ovf.Property {
	out := *p
	out.Configuration, out.Values = nil, nil
	for _, v := range p.Values {
		if v.Configuration != nil && applies(v.Configuration, configuration) {
			v.Configuration = &configuration
		}
		out.Values = append(out.Values, v)
	}
	return &out
}

// applies reports whether a list of configurations contains one. An element without a list belongs to all
// configurations.
func applies(list *string, configuration string) bool {
	return list == nil || slices.Contains(strings.Fields(*list), configuration)
}
