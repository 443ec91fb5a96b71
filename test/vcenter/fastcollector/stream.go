// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// gather is how long changes accumulate before they are read, so that the
	// many updates of one operation become one set. vCenter batches as well.
	gather = 5 * time.Millisecond
	// sessionCheck is how often a wait checks whether its session still exists.
	sessionCheck = 500 * time.Millisecond
	// maxObjects is vCenter's own limit of object updates in one set.
	maxObjects = 100
)

// stream is the state of a collector between waits.
type stream struct {
	serving sync.Mutex // held by the one wait that runs

	feedMu sync.Mutex // guards feed for nudge
	feed   *feed

	version  int
	answered *types.UpdateSet // the last set, in case its answer was lost
	queue    []types.PropertyFilterUpdate
}

func (s *stream) nudge() {
	s.feedMu.Lock()
	defer s.feedMu.Unlock()
	if s.feed != nil {
		s.feed.signal()
	}
}

func (s *stream) restart(hub *Hub, c *Collector) {
	s.feedMu.Lock()
	defer s.feedMu.Unlock()
	s.feed = hub.subscribe(c)
	s.answered, s.queue = nil, nil
}

func (s *stream) wait(ctx *simulator.Context, c *Collector, req *types.WaitForUpdatesEx, cancelled <-chan struct{}) (*types.UpdateSet, types.BaseMethodFault) {
	s.serving.Lock()
	defer s.serving.Unlock()

	hub := hubOf(ctx)
	limit, deadline, once := options(req.Options)
	if req.Version == "" {
		s.restart(hub, c)
		if fault := s.scan(ctx, c, true); fault != nil {
			return nil, fault
		}
		return s.next(limit), nil
	}
	if !hub.subscribed(c, s.feed) || s.answered == nil {
		return nil, &types.InvalidCollectorVersion{}
	}
	if req.Version != s.answered.Version {
		if req.Version == strconv.Itoa(s.version-1) {
			return s.answered, nil
		}
		return nil, &types.InvalidCollectorVersion{}
	}
	if len(s.queue) != 0 {
		return s.next(limit), nil
	}

	s.feed.setWaiting(true)
	defer s.feed.setWaiting(false)
	return s.await(ctx, c, hub, waitFor{limit: limit, once: once, deadline: deadline, cancelled: cancelled})
}

type waitFor struct {
	limit     int
	once      bool
	deadline  <-chan time.Time
	cancelled <-chan struct{}
}

func (s *stream) await(ctx *simulator.Context, c *Collector, hub *Hub, w waitFor) (*types.UpdateSet, types.BaseMethodFault) {
	ticker := time.NewTicker(sessionCheck)
	defer ticker.Stop()
	var gathered <-chan time.Time
	if w.once || s.feed.hasPending() { // the last wait may have ended while it gathered
		gathered = time.After(0)
	}
	for {
		select {
		case <-w.cancelled:
			return nil, &types.RequestCanceled{}
		case <-hub.closed:
			return nil, &types.RequestCanceled{}
		case <-w.deadline:
			return nil, nil
		case <-hub.kick():
			if !sessionExists(ctx) {
				return nil, &types.NotAuthenticated{}
			}
		case <-ticker.C:
			if !sessionExists(ctx) {
				return nil, &types.NotAuthenticated{}
			}
		case <-s.feed.wake:
			if gathered == nil {
				gathered = time.After(gather)
			}
		case <-gathered:
			gathered = nil
			if fault := s.scan(ctx, c, false); fault != nil {
				return nil, fault
			}
			if len(s.queue) != 0 {
				return s.next(w.limit), nil
			}
			if w.once {
				return nil, nil
			}
		}
	}
}

// scan reads the changes into the queue. A filter that was never scanned reports all its objects.
func (s *stream) scan(ctx *simulator.Context, c *Collector, fresh bool) types.BaseMethodFault {
	changes := s.feed.take()
	for _, ref := range c.filterRefs() {
		filter, ok := ctx.Session.Get(ref).(*Filter)
		if !ok {
			continue
		}
		if fresh {
			filter.reset()
		}
		updates, fault := filter.scan(ctx, changes)
		if fault != nil {
			return fault
		}
		if len(updates) != 0 {
			s.queue = append(s.queue, types.PropertyFilterUpdate{Filter: ref, ObjectSet: updates})
		}
	}
	return nil
}

// next takes up to limit object updates from the queue.
func (s *stream) next(limit int) *types.UpdateSet {
	s.version++
	set := &types.UpdateSet{Version: strconv.Itoa(s.version)}
	for len(s.queue) != 0 && limit > 0 {
		head := s.queue[0]
		n := min(limit, len(head.ObjectSet))
		set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: head.Filter, ObjectSet: head.ObjectSet[:n]})
		limit -= n
		if n < len(head.ObjectSet) {
			s.queue[0].ObjectSet = head.ObjectSet[n:]
			continue
		}
		s.queue = s.queue[1:]
	}
	if len(s.queue) != 0 {
		set.Truncated = types.NewBool(true)
	}
	s.answered = set
	return set
}

func options(o *types.WaitOptions) (limit int, deadline <-chan time.Time, once bool) {
	limit = maxObjects
	if o == nil {
		return limit, nil, false
	}
	if n := int(o.MaxObjectUpdates); n > 0 && n < limit {
		limit = n
	}
	if o.MaxWaitSeconds != nil {
		if *o.MaxWaitSeconds <= 0 {
			return limit, nil, true
		}
		deadline = time.After(time.Duration(*o.MaxWaitSeconds) * time.Second)
	}
	return limit, deadline, false
}

func sessionExists(ctx *simulator.Context) bool {
	res := ctx.Map.SessionManager().SessionIsActive(ctx, &types.SessionIsActive{
		SessionID: ctx.Session.Key,
		UserName:  ctx.Session.UserName,
	})
	return isActive(res)
}
