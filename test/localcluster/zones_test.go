// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The zone default replaces the zone of the flags, which is in the first vCenter.
func TestZones_OfOtherVCentersHaveOtherNamesThanThoseOfTheFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"one vCenter":                         {Options{VCenters: 1}, nil},
		"zones of one vCenter":                {Options{VCenters: 1, Zones: true}, []string{"default of default", "second of default"}},
		"two vCenters":                        {Options{VCenters: 2}, []string{"third of vcenter-2", "fourth of vcenter-2"}},
		"zones of two vCenters":               {Options{VCenters: 2, Zones: true}, []string{"default of default", "second of default", "third of vcenter-2", "fourth of vcenter-2"}},
		"as many vCenters as there are names": {Options{VCenters: maxVCenters}, []string{"third of vcenter-2", "fourth of vcenter-2", "fifth of vcenter-3", "sixth of vcenter-3", "seventh of vcenter-4", "eighth of vcenter-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, z := range tc.options.zones() {
				got = append(got, z.Name+" of "+z.Spec.VCenter)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("zones (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVCenterObjects_IncludeTheFirstOnRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    []int
	}{
		"one by flags":   {Options{VCenters: 1}, nil},
		"two by flags":   {Options{VCenters: 2}, []int{2}},
		"one by objects": {Options{VCenters: 1, VCenterObjects: true}, []int{1}},
		"two by objects": {Options{VCenters: 2, VCenterObjects: true}, []int{1, 2}},
	} {
		if diff := cmp.Diff(tc.want, tc.options.vcenterObjects()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
