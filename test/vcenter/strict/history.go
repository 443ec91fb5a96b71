// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// most is the maximum number of tasks that a collector returns in one call (API, HistoryCollector,
// setCollectorPageSize).
const most = 1000

// history collects tasks that ended. vCenter keeps them for weeks; the simulator's own
// collectors know the last 1,000, which is less than a minute of a busy test.
type history struct {
	mo.TaskHistoryCollector

	tasks []types.TaskInfo // still to be read, oldest first
}

// CreateCollectorForTasks answers for the task manager and supports filters by time, state and activation ID. Only
// collectors with an activation ID include running tasks.
func (g *Gate) CreateCollectorForTasks(ctx *simulator.Context, req *types.CreateCollectorForTasks) soap.HasFault {
	spec := req.Filter
	if spec.Entity != nil || spec.UserName != nil {
		return &methods.CreateCollectorForTasksBody{Fault_: simulator.Fault("", &types.NotSupported{})}
	}
	g.recent.mu.Lock()
	past := slices.Clone(g.recent.past)
	var running []types.ManagedObjectReference
	if len(spec.ActivationId) > 0 {
		for _, ref := range g.recent.list {
			if g.recent.runs[ref] {
				running = append(running, ref)
			}
		}
	}
	g.recent.mu.Unlock()
	for _, ref := range running {
		if task, ok := ctx.Map.Get(ref).(*simulator.Task); ok {
			ctx.WithLock(task, func() { past = append(past, task.Info) })
		}
	}
	past = slices.DeleteFunc(past, func(info types.TaskInfo) bool {
		early := spec.Time != nil && spec.Time.BeginTime != nil && info.QueueTime.Before(*spec.Time.BeginTime)
		late := spec.Time != nil && spec.Time.EndTime != nil && info.QueueTime.After(*spec.Time.EndTime)
		another := len(spec.ActivationId) > 0 && !slices.Contains(spec.ActivationId, info.ActivationId)
		return early || late || another || len(spec.State) > 0 && !slices.Contains(spec.State, info.State)
	})
	ref := ctx.Session.Put(&history{tasks: past}).Reference()
	return &methods.CreateCollectorForTasksBody{Res: &types.CreateCollectorForTasksResponse{Returnval: ref}}
}

// SetClock sets how far vCenter's clock is ahead of the others. It is used for the current time and for the times of
// tasks.
func (g *Gate) SetClock(ahead time.Duration) { g.recent.ahead.Store(int64(ahead)) }

// CurrentTime answers for the service instance.
func (g *Gate) CurrentTime(*simulator.Context, *types.CurrentTime) soap.HasFault {
	return &methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: g.recent.now()}}
}

// ReadNextTasks returns the next tasks, which are newer.
func (h *history) ReadNextTasks(_ *simulator.Context, req *types.ReadNextTasks) soap.HasFault {
	if req.MaxCount <= 0 || req.MaxCount > most {
		return &methods.ReadNextTasksBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "maxCount"})}
	}
	n := min(int(req.MaxCount), len(h.tasks))
	page := h.tasks[:n]
	h.tasks = h.tasks[n:]
	return &methods.ReadNextTasksBody{Res: &types.ReadNextTasksResponse{Returnval: page}}
}

// DestroyCollector destroys the collector.
func (h *history) DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault {
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyCollectorBody{Res: &types.DestroyCollectorResponse{}}
}
