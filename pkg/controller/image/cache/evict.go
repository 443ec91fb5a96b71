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

// Policy decides when the server removes copies that VMs were created from. It does not apply to caches that users
// created.
type Policy struct {
	// MaxAge is how long unused copies are kept; 0 means without limit.
	MaxAge time.Duration
	// MinFreePercent is the percentage of a datastore that must be free. While less is free, the least recently used copies are
	// removed. With 0, no copies are removed for space.
	MinFreePercent int
	// MinIdle is the minimum time that copies are kept after they were created or used.
	MinIdle time.Duration
}

// DefaultMinIdle is the default of MinIdle. It is long enough for a waiting VM to begin to use the copies.
const DefaultMinIdle = 2 * time.Minute

// candidate is a location whose copies can be removed.
type candidate struct {
	at locationKey
	*locationStatus
	// idle is the time of the last use.
	idle time.Time
	// reason is the reason for the event; empty if the copies are removed only to free space.
	reason string
}

// evictable returns the locations of a vCenter whose copies can be removed, the least recently used first. The labels of
// waiting VMs are not considered, because users can write them; MinIdle gives waiting VMs the time to begin.
func evictable(caches []*cacheObject, vcenter string, p Policy, now time.Time) []candidate {
	var out []candidate
	for _, c := range caches {
		if c.Name != provider.ImageCacheName(c.Spec.ContentLibrary) {
			continue
		}
		want := desiredLocations(c)
		for i := range c.Status.Locations {
			l := &c.Status.Locations[i]
			ready := conditions.Find(l.Conditions, vmv1alpha1.ConditionReady)
			if _, ok := want[statusKey(c.Name, l)]; !ok || l.VCenter != vcenter || !complete(l) || ready == nil {
				continue
			}
			one := candidate{at: statusKey(c.Name, l), locationStatus: l, idle: ready.LastTransitionTime.Time}
			if l.LastUsed != nil && l.LastUsed.After(one.idle) {
				one.idle = l.LastUsed.Time
			}
			age := now.Sub(one.idle)
			if p.MaxAge > 0 && age >= p.MaxAge {
				one.reason = fmt.Sprintf("not used for %s", age.Round(time.Minute))
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

// evict returns the candidates to remove: those that are too old, and as many others as their datastores need free space.
// Directories in used are not removed. short has the datastores on which a copy failed for lack of space.
func evict(all []candidate, used map[string]string, space map[string]provider.ImageSpace, short map[string]bool, p Policy) []candidate {
	var out []candidate
	freed := map[string]int64{}
	for _, one := range all {
		if _, ok := used[one.Directory]; ok {
			continue
		}
		has := space[one.DatastoreID]
		free := has.Free + freed[one.DatastoreID]
		if one.reason == "" {
			switch {
			case short[one.DatastoreID] && freed[one.DatastoreID] == 0:
				one.reason = "the datastore has no space for another image"
			case has.Capacity > 0 && float64(free) < float64(has.Capacity)*float64(p.MinFreePercent)/100:
				one.reason = fmt.Sprintf("%d %% of the datastore is free, less than the minimum of %d %%", free*100/has.Capacity, p.MinFreePercent)
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
