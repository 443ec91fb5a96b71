// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

type (
	cacheObject    = vmv1alpha1.VirtualMachineImageCache
	location       = vmv1alpha1.VirtualMachineImageCacheLocation
	locationStatus = vmv1alpha1.VirtualMachineImageCacheLocationStatus
)

// locationKey identifies a location of a cache.
type locationKey struct {
	part
	datastore, policy string
}

// String returns the name of the location's operations.
func (s locationKey) String() string {
	return s.cache + "/" + s.vcenter + "/" + s.datastore + "\x00" + s.policy
}

// partOf returns the part of the location with the operation name.
func partOf(operations string) part {
	names := strings.SplitN(operations, "/", 3)
	return part{cache: names[0], vcenter: names[1]}
}

// vcenterOf returns the name of the VCenter of a location in spec.
func vcenterOf(l *location) string { return cmp.Or(l.VCenter, vmv1alpha1.DefaultVCenter) }

// specKey returns the key of a location in spec.
func specKey(name string, l *location) locationKey {
	return locationKey{part: part{name, vcenterOf(l)}, datastore: l.Datastore, policy: l.StoragePolicy}
}

// statusKey returns the key of a location in status.
func statusKey(name string, l *locationStatus) locationKey {
	return locationKey{part: part{name, l.VCenter}, datastore: l.Datastore, policy: l.StoragePolicy}
}

// partsOf returns the parts of a cache, including the one without a vCenter.
func partsOf(c *cacheObject) []part {
	parts := []part{{cache: c.Name}}
	for i := range c.Spec.Locations {
		parts = append(parts, part{c.Name, vcenterOf(&c.Spec.Locations[i])})
	}
	for i := range c.Status.Locations {
		parts = append(parts, part{c.Name, c.Status.Locations[i].VCenter})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.vcenter, b.vcenter) })
	return slices.Compact(parts)
}

// desiredLocations returns the locations of spec by key. A deleted cache has none.
func desiredLocations(c *cacheObject) map[locationKey]location {
	out := map[locationKey]location{}
	if c.DeletionTimestamp != nil {
		return out
	}
	for _, l := range c.Spec.Locations {
		out[specKey(c.Name, &l)] = l
	}
	return out
}

// complete reports whether all files of a location are copied.
func complete(l *locationStatus) bool {
	return l.Progress == 100 && len(l.Files) > 0 && l.Directory != ""
}

// sortLocations sorts the locations of status like those of spec. Locations that spec does not have are last.
func sortLocations(c *cacheObject) {
	at := map[locationKey]int{}
	for i := range c.Spec.Locations {
		at[specKey(c.Name, &c.Spec.Locations[i])] = i - len(c.Spec.Locations)
	}
	slices.SortStableFunc(c.Status.Locations, func(a, b locationStatus) int {
		return cmp.Compare(at[statusKey(c.Name, &a)], at[statusKey(c.Name, &b)])
	})
}

// set sets a condition of a location.
func set(l *locationStatus, now time.Time, conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&l.Conditions, now, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
}

// summarize computes the conditions of a cache from those of its locations.
func summarize(c *cacheObject, now time.Time) {
	for of, kind := range map[string]string{
		vmv1alpha1.ConditionProviderReady: vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady: vmv1alpha1.ConditionOVFReady,
		vmv1alpha1.ConditionFilesReady: vmv1alpha1.ConditionReady, vmv1alpha1.ConditionReady: vmv1alpha1.ConditionReady,
	} {
		sum := metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, ObservedGeneration: c.Generation}
		want := desiredLocations(c)
		for _, l := range c.Spec.Locations {
			i := slices.IndexFunc(c.Status.Locations, func(s locationStatus) bool { return statusKey(c.Name, &s) == specKey(c.Name, &l) })
			if _, ok := want[specKey(c.Name, &l)]; !ok || sum.Status == metav1.ConditionFalse {
				continue
			}
			one := metav1.Condition{Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: "not checked yet"}
			if i >= 0 {
				if found := conditions.Find(c.Status.Locations[i].Conditions, kind); found != nil {
					one = *found
				}
			}
			if one.Status == metav1.ConditionTrue || one.Status == metav1.ConditionUnknown && sum.Status == metav1.ConditionUnknown {
				continue
			}
			sum.Status, sum.Reason = one.Status, one.Reason
			sum.Message = "VCenter " + vcenterOf(&l) + ", datastore " + l.Datastore + ": " + one.Message
		}
		conditions.Set(&c.Status.Conditions, now, sum)
	}
}
