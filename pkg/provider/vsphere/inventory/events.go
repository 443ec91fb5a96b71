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
	// eventPage is the number of a folder's events that vCenter shows at once. More events between two responses of
	// the stream are lost. vCenter's limit is 1,000 (vSphere API, HistoryCollector.setLatestPageSize).
	eventPage = 200
	// eventsBack is the age of the oldest events that a new stream reads. It covers a restart of the server.
	eventsBack = 10 * time.Minute
	// eventFolders is the maximum number of folders whose events are followed. A client may have 32 collectors of
	// all kinds (vSphere API, EventManager.createCollectorForEvents).
	eventFolders = 16
)

// events tracks vCenter's events.
type events struct {
	// reported are the keys of the events on the last pages, by collector. They are not reported again.
	reported map[types.ManagedObjectReference]map[int32]bool
	// pending are events that were not reported yet.
	pending []types.BaseEvent
}

// followEvents creates an event collector for each folder. The stream delivers new events on their pages. Errors
// are only logged, because the stream also works without events.
func (i *Inventory) followEvents(ctx context.Context, col *collector) []types.ObjectSpec {
	i.events = events{reported: map[types.ManagedObjectReference]map[int32]bool{}}
	if i.opts.OnEvent == nil || len(i.opts.EventKinds) == 0 || col.client.ServiceContent.EventManager == nil {
		return nil
	}
	logger := klog.FromContext(ctx)
	now, err := methods.GetCurrentTime(ctx, col.client)
	if err != nil {
		logger.Error(err, "Not following vCenter events")
		return nil
	}
	began := now.Add(-eventsBack)
	var objects []types.ObjectSpec
	for n, folder := range col.folders {
		if n == eventFolders {
			logger.Info("Not following the events of some folders, because there are too many", "folders", len(col.folders), "followed", eventFolders)
			break
		}
		ref, err := col.eventsOf(ctx, folder, began, i.opts.EventKinds)
		if err != nil {
			logger.Error(err, "Not following the events of a folder", "folder", folder.Value)
			continue
		}
		objects = append(objects, types.ObjectSpec{Obj: ref})
	}
	return objects
}

// eventsOf creates a collector for the events of a folder and its descendants.
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
		return types.ManagedObjectReference{}, fmt.Errorf("creating the event collector: %w", err)
	}
	col.histories = append(col.histories, res.Returnval)
	_, err = methods.SetCollectorPageSize(ctx, col.client, &types.SetCollectorPageSize{This: res.Returnval, MaxCount: eventPage})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("setting the page size of the event collector: %w", err)
	}
	return res.Returnval, nil
}

// queueEvents queues the new events of a collector's page. They are reported after the full read is complete,
// because the owners of their virtual machines are known only then.
func (i *Inventory) queueEvents(u types.ObjectUpdate) {
	for _, c := range u.ChangeSet {
		page, ok := c.Val.(types.ArrayOfEvent)
		if !ok || c.Name != "latestPage" {
			continue
		}
		before, now := i.events.reported[u.Obj], map[int32]bool{}
		// The newest event is first.
		for n := len(page.Event) - 1; n >= 0; n-- {
			key := page.Event[n].GetEvent().Key
			if now[key] = true; !before[key] && len(i.events.pending) < eventPage*eventFolders {
				i.events.pending = append(i.events.pending, page.Event[n])
			}
		}
		i.events.reported[u.Obj] = now
	}
}

// reportEvents reports the queued events.
func (i *Inventory) reportEvents() {
	for _, e := range i.events.pending {
		i.opts.OnEvent(e)
	}
	i.events.pending = nil
}
