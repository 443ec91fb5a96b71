// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Policy says when copies go that virtual machines were made of. Those of a cache that
// somebody wrote stay as long as its spec has them.
type Policy struct {
	// MaxAge is how long copies are kept that are not used; 0 is for ever.
	MaxAge time.Duration
	// MinFree is what is to be free of a datastore, in percent. While less is, those go that
	// were not used for the longest time. 0 lets a datastore fill up.
	MinFree int
	// MinIdle is how long copies are kept at least after they were made or used.
	MinIdle time.Duration
}

// DefaultMinIdle is a MinIdle in which a virtual machine that waits for copies begins to be
// made of them.
const DefaultMinIdle = 2 * time.Minute

// candidate is a location whose copies may go.
type candidate struct {
	at spot
	*locationStatus
	// idle is since when nothing was made of it.
	idle time.Time
	// why it is to go, for people; empty if only for want of space.
	why string
}

// evictable are the locations of a vCenter whose copies may go, those that were not used for
// the longest time first. What virtual machines say that they wait for does not count: users write
// their labels, and MinIdle gives those that wait the time to begin.
func evictable(caches []*cacheObject, vcenter string, p Policy, now time.Time) []candidate {
	var out []candidate
	for _, c := range caches {
		if c.Name != provider.ImageCacheName(c.Spec.ContentLibrary) {
			continue
		}
		want := wanted(c)
		for i := range c.Status.Locations {
			l := &c.Status.Locations[i]
			ready := conditions.Find(l.Conditions, vmv1alpha1.ConditionReady)
			if _, ok := want[spotOfStatus(c.Name, l)]; !ok || l.VCenter != vcenter || !complete(l) || ready == nil {
				continue
			}
			one := candidate{at: spotOfStatus(c.Name, l), locationStatus: l, idle: ready.LastTransitionTime.Time}
			if l.LastUsed != nil && l.LastUsed.After(one.idle) {
				one.idle = l.LastUsed.Time
			}
			age := now.Sub(one.idle)
			if p.MaxAge > 0 && age >= p.MaxAge {
				one.why = fmt.Sprintf("no virtual machine was made of them for %s", age.Round(time.Minute))
			}
			if age >= p.MinIdle {
				out = append(out, one)
			}
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(a.idle.Compare(b.idle), cmp.Compare(a.at.cache, b.at.cache), cmp.Compare(a.at.datastore, b.at.datastore))
	})
	return out
}

// evict chooses the copies that go: those that are too old, and as many others as there has
// to be more room on their datastores. used tells what is in use, of which nothing goes; short
// are the datastores on which a copy had no room.
func evict(all []candidate, used map[string]string, space map[string]provider.ImageSpace, short map[string]bool, p Policy) []candidate {
	var out []candidate
	freed := map[string]int64{}
	for _, one := range all {
		if _, ok := used[one.Directory]; ok {
			continue
		}
		has := space[one.DatastoreID]
		free := has.Free + freed[one.DatastoreID]
		if one.why == "" {
			switch {
			case short[one.DatastoreID] && freed[one.DatastoreID] == 0:
				one.why = "the datastore has no room for another image"
			case has.Capacity > 0 && float64(free) < float64(has.Capacity)*float64(p.MinFree)/100:
				one.why = fmt.Sprintf("%d %% of the datastore are free, and %d %% are to be", free*100/has.Capacity, p.MinFree)
			default:
				continue
			}
		}
		freed[one.DatastoreID] += max(sizeOf(one.locationStatus), 1)
		out = append(out, one)
	}
	return out
}

func sizeOf(l *locationStatus) int64 {
	if l.ContentSize == nil {
		return 0
	}
	return l.ContentSize.Value()
}
