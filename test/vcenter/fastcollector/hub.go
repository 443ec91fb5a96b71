// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
)

// idleLimit is the time after which an unused feed is dropped. Its collector then answers InvalidCollectorVersion and
// its client starts over. It limits the feeds of vanished clients.
const idleLimit = 30 * time.Minute

var hubRef = types.ManagedObjectReference{Type: "SlipwayUpdateHub", Value: "hub"}

// Hub distributes changes of the inventory to the collectors that wait for them.
//
// It carries a managed object because the simulator's searches look into every
// object of the registry and panic on one without.
type Hub struct {
	mo.ServiceManager

	sight *sight.Sight

	mu     sync.Mutex
	feeds  map[*Collector]*feed
	closed chan struct{}
	kicked chan struct{}
	once   sync.Once
}

// Install registers the hub and makes every session use the fast collector, which shows only the objects that seen
// allows for the session's account. It must be called before the simulator serves requests.
func Install(registry *simulator.Registry, propertyCollector types.ManagedObjectReference, seen *sight.Sight) *Hub {
	hub := &Hub{sight: seen, feeds: map[*Collector]*feed{}, closed: make(chan struct{}), kicked: make(chan struct{})}
	hub.Self = hubRef
	registry.Put(hub)
	registry.AddHandler(hub)

	seen.Tell(hub)
	root := &Collector{}
	root.Self = propertyCollector
	registry.Put(root)
	return hub
}

func hubOf(ctx *simulator.Context) *Hub {
	hub, _ := ctx.Map.Get(hubRef).(*Hub)
	return hub
}

// Close ends all waits, now and later, with RequestCanceled.
func (h *Hub) Close() { h.once.Do(func() { close(h.closed) }) }

// Kick makes all waits check immediately whether their session still exists.
func (h *Hub) Kick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.kicked)
	h.kicked = make(chan struct{})
}

func (h *Hub) kick() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kicked
}

// Cancel ends the wait of the collector with this reference, if there is one.
// It is meant for waits whose client has closed the connection.
func (h *Hub) Cancel(collector types.ManagedObjectReference) {
	h.mu.Lock()
	var waiting []*Collector
	for c := range h.feeds {
		if c.Self == collector {
			waiting = append(waiting, c)
		}
	}
	h.mu.Unlock()
	for _, c := range waiting {
		c.cancelWait()
	}
}

func (h *Hub) subscribe(c *Collector) *feed {
	f := newFeed()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds[c] = f
	return f
}

func (h *Hub) unsubscribe(c *Collector) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.feeds, c)
}

func (h *Hub) subscribed(c *Collector, f *feed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f != nil && h.feeds[c] == f
}

func (h *Hub) each(do func(*feed)) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for c, f := range h.feeds {
		if f.idleSince(now) > idleLimit {
			delete(h.feeds, c)
			continue
		}
		do(f)
	}
}

// Touch makes every collector read the object again. The zero reference means all objects.
func (h *Hub) Touch(ref types.ManagedObjectReference) {
	h.each(func(f *feed) {
		if ref == (types.ManagedObjectReference{}) {
			f.everything()
			return
		}
		f.changed(ref, true)
	})
}

// PutObject is called by the registry for every new object.
func (h *Hub) PutObject(_ *simulator.Context, obj mo.Reference) {
	ref := obj.Reference()
	h.each(func(f *feed) { f.added(ref) })
}

// UpdateObject is called by the registry for every changed object.
func (h *Hub) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	configuration := slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return !apart[rootOf(c.Name)] })
	h.each(func(f *feed) { f.changed(ref, configuration) })
}

// apart are the properties that change without the configuration, which is large and is not
// read for them.
var apart = map[string]bool{
	"guest": true, "guestHeartbeatStatus": true, "summary": true, "snapshot": true, "rootSnapshot": true, "layout": true, "layoutEx": true,
}

// rootOf is the first part of a property path.
func rootOf(path string) string {
	root, _, _ := strings.Cut(path, ".")
	return root
}

// RemoveObject is called by the registry for every removed object, and for the
// collectors of a session that logs out.
func (h *Hub) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	h.each(func(f *feed) { f.removed(ref) })
	if ref.Type != "PropertyCollector" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.feeds {
		if c.Self == ref {
			delete(h.feeds, c)
		}
	}
}
