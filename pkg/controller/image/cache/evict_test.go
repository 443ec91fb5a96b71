// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// cacheOf returns a cache that the server created, with complete copies of 10 bytes on a datastore. The copies are one hour
// old.
func cacheOf(item, datastore string, change ...func(*cacheObject)) *cacheObject {
	source := vmv1alpha1.ContentLibraryImageSource{Library: "l", Item: item}
	c := &cacheObject{ObjectMeta: metav1.ObjectMeta{Name: provider.ImageCacheName(source)}}
	c.Spec.ContentLibrary = source
	c.Spec.Locations = []location{{Datastore: datastore}}
	l := locationStatus{
		VCenter: vmv1alpha1.DefaultVCenter, Datastore: datastore, DatastoreID: datastore, Directory: "[" + datastore + "] slipway-images/" + item,
		Files: make([]vmv1alpha1.VirtualMachineImageCacheFile, 1), Progress: 100, ContentSize: resource.NewQuantity(10, resource.BinarySI),
	}
	set(&l, now.Add(-time.Hour), vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	c.Status.Locations = []locationStatus{l}
	for _, do := range change {
		do(c)
	}
	return c
}

func usedAgo(ago time.Duration) func(*cacheObject) {
	return func(c *cacheObject) {
		at := metav1.NewTime(now.Add(-ago))
		c.Status.Locations[0].LastUsed = &at
	}
}

func TestEviction_RemovesTheLeastRecentlyUsed(t *testing.T) {
	old, older, young := cacheOf("old", "a", usedAgo(20*time.Minute)), cacheOf("older", "a", usedAgo(30*time.Minute)), cacheOf("young", "a", usedAgo(time.Minute))
	elsewhere := cacheOf("elsewhere", "b")
	byHand := cacheOf("hand", "a", func(c *cacheObject) { c.Name = "by-hand" })
	incomplete := cacheOf("incomplete", "a", func(c *cacheObject) { c.Status.Locations[0].Progress = 90 })
	leaving := cacheOf("leaving", "a", func(c *cacheObject) { c.Spec.Locations = nil })
	all := []*cacheObject{young, old, byHand, incomplete, leaving, elsewhere, older}
	roomy := map[string]provider.ImageSpace{"a": {Free: 50, Capacity: 100}, "b": {Free: 50, Capacity: 100}}
	for name, test := range map[string]struct {
		policy Policy
		space  map[string]provider.ImageSpace
		short  map[string]bool
		used   map[string]string
		want   []string
	}{
		"nothing to remove":   {policy: Policy{MaxAge: 2 * time.Hour, MinFreePercent: 50}, space: roomy},
		"never by age":        {policy: Policy{}, space: roomy},
		"by age":              {policy: Policy{MaxAge: 25 * time.Minute}, space: roomy, want: []string{"elsewhere", "older"}},
		"one is enough":       {policy: Policy{MinFreePercent: 60, MinIdle: 5 * time.Minute}, space: map[string]provider.ImageSpace{"a": {Free: 50, Capacity: 100}}, want: []string{"older"}},
		"and one more":        {policy: Policy{MinFreePercent: 61, MinIdle: 5 * time.Minute}, space: map[string]provider.ImageSpace{"a": {Free: 50, Capacity: 100}}, want: []string{"older", "old"}},
		"not recently used":   {policy: Policy{MinFreePercent: 90, MinIdle: 5 * time.Minute}, space: map[string]provider.ImageSpace{"a": {Free: 50, Capacity: 100}}, want: []string{"older", "old"}},
		"not in use":          {policy: Policy{MinFreePercent: 60, MinIdle: 5 * time.Minute}, space: map[string]provider.ImageSpace{"a": {Free: 50, Capacity: 100}}, used: map[string]string{"[a] slipway-images/older": "vm"}, want: []string{"old"}},
		"a copy has no space": {policy: Policy{MinIdle: 5 * time.Minute}, space: roomy, short: map[string]bool{"a": true}, want: []string{"older"}},
		"space is unknown":    {policy: Policy{MinFreePercent: 60, MinIdle: 5 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			candidates := evictable(all, vmv1alpha1.DefaultVCenter, test.policy, now)
			var got []string
			for _, one := range evict(candidates, test.used, test.space, test.short, test.policy) {
				item := path.Base(one.Directory)
				got = append(got, item)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("evicted copies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocation_IsCheckedLaterTheLongerItIsUnusable(t *testing.T) {
	for _, tc := range []struct {
		name        string
		status      metav1.ConditionStatus
		since, want time.Duration
	}{
		{"usable", metav1.ConditionTrue, time.Second, checkInterval},
		{"unusable for a second", metav1.ConditionFalse, time.Second, controller.MinObserveDelay},
		{"unusable for ten seconds", metav1.ConditionFalse, 10 * time.Second, 5 * time.Second},
		{"unknown for a minute", metav1.ConditionUnknown, time.Minute, 30 * time.Second},
		{"unusable for a day", metav1.ConditionFalse, 24 * time.Hour, checkInterval},
	} {
		c := cacheOf("a", "a")
		l := &c.Status.Locations[0]
		set(l, now.Add(-tc.since), vmv1alpha1.ConditionProviderReady, tc.status, "Any", "")
		at := statusKey(c.Name, l)
		r := &reconciler{due: &due{next: map[locationKey]time.Time{}}, now: func() time.Time { return now }}
		p := &reconciliation{reconciler: r, part: at.part, cache: c, after: checkInterval}
		p.scheduleCheck(at, l)
		if got := r.due.in(at, now); got != tc.want || p.after != tc.want {
			t.Errorf("%s: check in %s, next reconcile in %s; want %s", tc.name, got, p.after, tc.want)
		}
		r.due.noLaterThan(at.part, now.Add(waitingVMInterval))
		if got := r.due.in(at, now); got != min(tc.want, waitingVMInterval) {
			t.Errorf("%s: after a VM began to wait: check in %s, want %s", tc.name, got, min(tc.want, waitingVMInterval))
		}
	}
}

func TestSummarize_ReadyFollowsLocations(t *testing.T) {
	c := cacheOf("a", "a")
	c.Spec.Locations = append(c.Spec.Locations, location{Datastore: "b"})
	status := func() (string, string) {
		summarize(c, now)
		for _, condition := range c.Status.Conditions {
			if condition.Type == vmv1alpha1.ConditionReady {
				return string(condition.Status), condition.Reason
			}
		}
		return "", ""
	}
	if is, reason := status(); is != "Unknown" || reason != vmv1alpha1.ReasonUnknownState {
		t.Errorf("with an unchecked location: %s %s", is, reason)
	}
	other := locationStatus{VCenter: vmv1alpha1.DefaultVCenter, Datastore: "b"}
	set(&other, now, vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "copying")
	c.Status.Locations = append(c.Status.Locations, other)
	if is, reason := status(); is != "False" || reason != vmv1alpha1.ReasonInProgress {
		t.Errorf("during a copy: %s %s", is, reason)
	}
	set(&c.Status.Locations[1], now, vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	if is, _ := status(); is != "True" {
		t.Errorf("with two ready locations: %s", is)
	}
}
