// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Collector is the property collector of a session. Reading is the
// simulator's; filters and waiting are its own. The zero value is ready, as the
// simulator makes one per session by reflection.
type Collector struct {
	simulator.PropertyCollector

	filterMu sync.Mutex // guards PropertyCollector.Filter
	stream   stream
	turnMu   sync.Mutex // guards cancel
	cancel   chan struct{}

	pagesMu sync.Mutex
	pages   map[string]page // parts of retrievals, by token
}

// CreatePropertyCollector makes a further collector in the caller's session.
func (c *Collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	ref := ctx.Session.Put(&Collector{PropertyCollector: simulator.PropertyCollector{
		PropertyCollector: mo.PropertyCollector{Self: types.ManagedObjectReference{Type: "PropertyCollector"}},
	}}).Reference()
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{Returnval: ref}}
}

// DestroyPropertyCollector ends the collector's wait and removes it with its filters.
func (c *Collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.cancelWait()
	for _, ref := range c.filterRefs() {
		ctx.Session.Remove(ctx, ref)
	}
	if hub := hubOf(ctx); hub != nil {
		hub.unsubscribe(c)
	}
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyPropertyCollectorBody{Res: &types.DestroyPropertyCollectorResponse{}}
}

// CreateFilter adds a filter; a wait in progress reports its objects.
func (c *Collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	filter := &Filter{collector: c, members: map[types.ManagedObjectReference]properties{}, gone: refSet{}}
	filter.Self.Type = "PropertyFilter"
	filter.Spec, filter.PartialUpdates = req.Spec, req.PartialUpdates
	ref := ctx.Session.Put(filter).Reference()

	c.filterMu.Lock()
	c.Filter = append(c.Filter, ref)
	c.filterMu.Unlock()
	c.stream.nudge()
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: ref}}
}

// CancelWaitForUpdates ends the collector's wait with RequestCanceled.
func (c *Collector) CancelWaitForUpdates(_ *simulator.Context, _ *types.CancelWaitForUpdates) soap.HasFault {
	c.cancelWait()
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}

// WaitForUpdatesEx answers with the changes since the given version.
func (c *Collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	body := &methods.WaitForUpdatesExBody{}
	cancelled := c.takeTurn()
	set, fault := c.stream.wait(ctx, c, req, cancelled)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.WaitForUpdatesExResponse{Returnval: set}
	return body
}

// WaitForUpdates is WaitForUpdatesEx without options.
func (c *Collector) WaitForUpdates(ctx *simulator.Context, req *types.WaitForUpdates) soap.HasFault {
	body := &methods.WaitForUpdatesBody{}
	set, fault := c.stream.wait(ctx, c, &types.WaitForUpdatesEx{This: req.This, Version: req.Version}, c.takeTurn())
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.WaitForUpdatesResponse{Returnval: *set}
	return body
}

// takeTurn cancels the wait in progress, if there is one, and returns the
// channel that is closed when the new one is cancelled.
func (c *Collector) takeTurn() <-chan struct{} {
	c.turnMu.Lock()
	defer c.turnMu.Unlock()
	if c.cancel != nil {
		close(c.cancel)
	}
	c.cancel = make(chan struct{})
	return c.cancel
}

func (c *Collector) cancelWait() {
	c.turnMu.Lock()
	defer c.turnMu.Unlock()
	if c.cancel != nil {
		close(c.cancel)
		c.cancel = nil
	}
}

func (c *Collector) filterRefs() []types.ManagedObjectReference {
	c.filterMu.Lock()
	defer c.filterMu.Unlock()
	return slices.Clone(c.Filter)
}

func (c *Collector) dropFilter(ref types.ManagedObjectReference) {
	c.filterMu.Lock()
	defer c.filterMu.Unlock()
	c.Filter = slices.DeleteFunc(c.Filter, func(r types.ManagedObjectReference) bool { return r == ref })
}
