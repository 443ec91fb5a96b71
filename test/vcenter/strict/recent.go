// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// recentTasks is how many completed tasks the list of recent ones holds at most. Those
// that run or are queued are on it all the same (vSphere Web Services API, TaskManager,
// recentTask); the simulator counts them too.
const recentTasks = 200

// recent keeps the list of recent tasks in the place of the simulator's task manager.
type recent struct {
	*simulator.TaskManager

	mu   sync.Mutex
	list []types.ManagedObjectReference        // oldest first
	runs map[types.ManagedObjectReference]bool // of the list
	past []types.TaskInfo                      // that ended, oldest first
	puts int                                   // counts the tasks that there ever were

	ahead atomic.Int64 // of the clock of vCenter, in nanoseconds
}

// now returns the time of vCenter's clock.
func (r *recent) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// add adds a task that has succeeded.
func (r *recent) add(description string, entity types.ManagedObjectReference) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = append(r.past, types.TaskInfo{
		DescriptionId: description, Entity: &entity, State: types.TaskInfoStateSuccess, QueueTime: now, StartTime: &now, CompleteTime: &now,
	})
}

func keepRecent(registry *simulator.Registry) *recent {
	for _, e := range registry.AllReference("TaskManager") {
		if m, ok := e.(*simulator.TaskManager); ok {
			r := &recent{TaskManager: m, runs: map[types.ManagedObjectReference]bool{}}
			registry.AddHandler(r)
			return r
		}
	}
	panic("the simulator has no task manager")
}

// PutObject adds a new task. It does not hold the lock of the list while it notifies watchers, because they have
// locks of their own, which they hold when they end a task.
func (r *recent) PutObject(ctx *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok {
		return
	}
	task.Info.QueueTime = task.Info.QueueTime.Add(time.Duration(r.ahead.Load()))
	r.mu.Lock()
	r.list, r.runs[task.Self] = append(r.list, task.Self), true
	for range len(r.list) - len(r.runs) - recentTasks {
		oldest := slices.IndexFunc(r.list, func(ref types.ManagedObjectReference) bool { return !r.runs[ref] })
		r.list = slices.Delete(r.list, oldest, oldest+1)
	}
	r.puts++
	r.mu.Unlock()
	r.TaskManager.PutObject(ctx, obj)
	// The last caller writes the last list.
	for told := 0; ; {
		r.mu.Lock()
		list, puts := slices.Clone(r.list), r.puts
		r.mu.Unlock()
		if puts == told {
			return
		}
		r.Lock() // as the simulator does
		ctx.Update(r.TaskManager, []types.PropertyChange{{Name: "recentTask", Val: list}})
		r.Unlock()
		told = puts
	}
}

// UpdateObject receives the ends of tasks.
func (r *recent) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	if task, ok := obj.(*mo.Task); ok && ended(task.Info) {
		r.mu.Lock()
		if r.runs[task.Self] {
			r.past = append(r.past, task.Info)
		}
		delete(r.runs, task.Self)
		r.mu.Unlock()
	}
	r.TaskManager.UpdateObject(ctx, obj, changes)
}
