// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

const (
	// eventPage is how many events of a folder vCenter shows at once, and so how many may
	// happen between two answers of the stream without one being lost. vCenter's own bound
	// is 1,000 (vSphere API, HistoryCollector.setLatestPageSize).
	eventPage = 200
	// eventsBack is how far a new stream looks back: it covers the restart of a server.
	eventsBack = 10 * time.Minute
	// eventFolders bounds the folders whose events are followed: a client may have 32
	// collectors (vSphere API, EventManager.createCollectorForEvents), others included.
	eventFolders = 16
)

// events are those of vCenter that were seen.
type events struct {
	// told are the keys of those that the last pages had, by collector: what a page still
	// has is no news.
	told map[types.ManagedObjectReference]map[int32]bool
	// early are those that came before everything was read.
	early []types.BaseEvent
}

// followEvents makes a collector of events for each folder. The stream delivers what is new
// on their pages. Without them the stream is what it is: an error is only told.
func (i *Inventory) followEvents(ctx context.Context, col *collector) []types.ObjectSpec {
	i.events = events{told: map[types.ManagedObjectReference]map[int32]bool{}}
	if i.opts.Happened == nil || len(i.opts.EventKinds) == 0 || col.client.ServiceContent.EventManager == nil {
		return nil
	}
	logger := klog.FromContext(ctx)
	now, err := methods.GetCurrentTime(ctx, col.client)
	if err != nil {
		logger.Error(err, "Events of vCenter are not followed")
		return nil
	}
	began := now.Add(-eventsBack)
	var objects []types.ObjectSpec
	for n, folder := range col.folders {
		if n == eventFolders {
			logger.Info("Events of some folders are not followed: there are too many", "folders", len(col.folders), "followed", eventFolders)
			break
		}
		ref, err := col.eventsOf(ctx, folder, began, i.opts.EventKinds)
		if err != nil {
			logger.Error(err, "Events of a folder are not followed", "folder", folder.Value)
			continue
		}
		objects = append(objects, types.ObjectSpec{Obj: ref})
	}
	return objects
}

// eventsOf makes a collector of the events of a folder and all below it.
func (col *collector) eventsOf(ctx context.Context, folder types.ManagedObjectReference, began time.Time, kinds []string) (types.ManagedObjectReference, error) {
	res, err := methods.CreateCollectorForEvents(ctx, col.client, &types.CreateCollectorForEvents{
		This: *col.client.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{
			Entity:             &types.EventFilterSpecByEntity{Entity: folder, Recursion: types.EventFilterSpecRecursionOptionAll},
			Time:               &types.EventFilterSpecByTime{BeginTime: &began},
			DisableFullMessage: types.NewBool(false),
			EventTypeId:        kinds,
		},
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating the collector of events: %w", err)
	}
	col.histories = append(col.histories, res.Returnval)
	_, err = methods.SetCollectorPageSize(ctx, col.client, &types.SetCollectorPageSize{This: res.Returnval, MaxCount: eventPage})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("setting the size of the page of events: %w", err)
	}
	return res.Returnval, nil
}

// happened takes the page of a collector. Those of before everything was read are kept until
// then: only then is it known whose their virtual machines are.
func (i *Inventory) happened(u types.ObjectUpdate) {
	for _, c := range u.ChangeSet {
		page, ok := c.Val.(types.ArrayOfEvent)
		if !ok || c.Name != "latestPage" {
			continue
		}
		before, now := i.events.told[u.Obj], map[int32]bool{}
		// The newest comes first.
		for n := len(page.Event) - 1; n >= 0; n-- {
			key := page.Event[n].GetEvent().Key
			if now[key] = true; !before[key] && len(i.events.early) < eventPage*eventFolders {
				i.events.early = append(i.events.early, page.Event[n])
			}
		}
		i.events.told[u.Obj] = now
	}
}

// tellEvents tells of those that came.
func (i *Inventory) tellEvents() {
	for _, e := range i.events.early {
		i.opts.Happened(e)
	}
	i.events.early = nil
}
