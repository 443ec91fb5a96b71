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

// spot is a location of a cache.
type spot struct {
	part
	datastore, policy string
}

// String is the name of its operations.
func (s spot) String() string {
	return s.cache + "/" + s.vcenter + "/" + s.datastore + "\x00" + s.policy
}

// partOf is the part of the location that operations are named after.
func partOf(operations string) part {
	names := strings.SplitN(operations, "/", 3)
	return part{cache: names[0], vcenter: names[1]}
}

// vcenterOf names the vCenter of a location of a spec.
func vcenterOf(l *location) string { return cmp.Or(l.VCenter, vmv1alpha1.DefaultVCenter) }

// spotOf is where a location of a spec is.
func spotOf(name string, l *location) spot {
	return spot{part: part{name, vcenterOf(l)}, datastore: l.Datastore, policy: l.StoragePolicy}
}

// spotOfStatus is where a location of a status is.
func spotOfStatus(name string, l *locationStatus) spot {
	return spot{part: part{name, l.VCenter}, datastore: l.Datastore, policy: l.StoragePolicy}
}

// partsOf are the parts of a cache, that of no vCenter among them.
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

// wanted are the locations of the spec, by spot; none of a cache that is to go.
func wanted(c *cacheObject) map[spot]location {
	out := map[spot]location{}
	if c.DeletionTimestamp != nil {
		return out
	}
	for _, l := range c.Spec.Locations {
		out[spotOf(c.Name, &l)] = l
	}
	return out
}

// complete is true of a location whose files are all copied.
func complete(l *locationStatus) bool {
	return l.Progress == 100 && len(l.Files) > 0 && l.Directory != ""
}

// order sorts the locations of status as they are in spec; those that are to go are last.
func order(c *cacheObject) {
	at := map[spot]int{}
	for i := range c.Spec.Locations {
		at[spotOf(c.Name, &c.Spec.Locations[i])] = i - len(c.Spec.Locations)
	}
	slices.SortStableFunc(c.Status.Locations, func(a, b locationStatus) int {
		return cmp.Compare(at[spotOfStatus(c.Name, &a)], at[spotOfStatus(c.Name, &b)])
	})
}

// set sets a condition of a location.
func set(l *locationStatus, now time.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&l.Conditions, now, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// summarize sets the conditions of a cache by those of its locations.
func summarize(c *cacheObject, now time.Time) {
	for of, kind := range map[string]string{
		vmv1alpha1.ConditionProviderReady: vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady: vmv1alpha1.ConditionOVFReady,
		vmv1alpha1.ConditionFilesReady: vmv1alpha1.ConditionReady, vmv1alpha1.ConditionReady: vmv1alpha1.ConditionReady,
	} {
		sum := metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, ObservedGeneration: c.Generation}
		want := wanted(c)
		for _, l := range c.Spec.Locations {
			i := slices.IndexFunc(c.Status.Locations, func(s locationStatus) bool { return spotOfStatus(c.Name, &s) == spotOf(c.Name, &l) })
			if _, ok := want[spotOf(c.Name, &l)]; !ok || sum.Status == metav1.ConditionFalse {
				continue
			}
			one := metav1.Condition{Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: "it was not looked at yet"}
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
