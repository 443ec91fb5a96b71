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

// pick selects one of the items with the same name in all vCenters: the one with the ID before, else that of the first
// vCenter. It also returns the names of the vCenters that have the item. n is 1 if an item is selected, 0 if there is none,
// and the number of items if a vCenter has several.
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

// isUnread reports whether the item that status describes may be in a vCenter that could not be read. Its description is
// kept then.
func isUnread(status *vmv1alpha1.VirtualMachineImageStatus, err error) bool {
	var unread *provider.PartialResultError
	return errors.As(err, &unread) && conditions.IsTrue(status.Conditions, vmv1alpha1.ConditionReady) &&
		slices.ContainsFunc(unread.VCenters, func(name string) bool { return slices.Contains(status.VCenters, name) })
}

// vcentersOf returns the vCenters that have an image: those that reported it, and those that could not be read and had it
// before.
func vcentersOf(before []string, f finding) []string {
	out := slices.Clone(f.vcenters)
	var unread *provider.PartialResultError
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
