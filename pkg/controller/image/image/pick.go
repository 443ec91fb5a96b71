// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"slices"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// pick returns of items with one name, each of any vCenter, the one that says what the image
// is like: that which did before, else that of the first vCenter; with the names of all
// vCenters that have it. n is 1, else the number of items that cannot be told apart, or 0.
func pick(items []provider.LibraryItem, before string) (item *provider.LibraryItem, vcenters []string, n int) {
	each := map[string]int{}
	for i := range items {
		each[items[i].VCenter]++
	}
	for i := range items {
		one := &items[i]
		if each[one.VCenter] > 1 {
			n = max(n, each[one.VCenter])
			continue
		}
		if one.VCenter != "" {
			vcenters = append(vcenters, one.VCenter)
		}
		if item == nil || one.ID == before {
			item = one
		}
	}
	if item != nil {
		n = 1
	}
	return item, vcenters, n
}

// away is true if what status describes may be in a vCenter that cannot be asked: it stays
// described as that has it.
func away(status *vmv1alpha1.VirtualMachineImageStatus, err error) bool {
	var unread *provider.UnreadError
	return errors.As(err, &unread) && conditions.IsTrue(status.Conditions, vmv1alpha1.ConditionReady) &&
		slices.ContainsFunc(unread.VCenters, func(name string) bool { return slices.Contains(status.VCenters, name) })
}

// vcentersOf are those that have an image: those that have answered so, and those that
// have not answered now and had it before.
func vcentersOf(before []string, f finding) []string {
	out := slices.Clone(f.vcenters)
	var unread *provider.UnreadError
	if errors.As(f.unread, &unread) {
		for _, name := range unread.VCenters {
			if slices.Contains(before, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
