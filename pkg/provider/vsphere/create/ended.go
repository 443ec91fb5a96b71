// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"
)

// historyPage is how many tasks are read at once, which is the most that the API allows
// for a page of a collector (API, HistoryCollector, setCollectorPageSize); historyPages
// bounds how much is read for one VM.
const historyPage, historyPages = 1000, 10

// lookBack is how long before a VM was missed its end is searched for: a server that starts,
// or reads its inventory again, misses what ended before (judgement).
const lookBack = time.Hour

// End is how a VM came to be no longer in the inventory of vCenter.
type End string

const (
	// Destroyed means that it was deleted from the disk.
	Destroyed End = "destroyed"
	// Unregistered means that it was removed from the inventory, and its files were not.
	Unregistered End = "unregistered"
)

// Ended searches the history of tasks for the end of the VM of that managed object ID, not
// long before a time or later. The list of recent tasks does not tell: of those that ended it
// has the last 200 only. It is empty if the history has no end of the VM, which does not mean
// that it is there: no task of a VM tells of the removal of its host.
func (c *Creator) Ended(ctx context.Context, vm string, since time.Time) (end End, err error) {
	if err := c.checkClock(ctx); err != nil {
		return "", err
	}
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return "", err
	}
	begin := since.Add(-lookBack)
	history, err := task.NewManager(vim).CreateCollectorForTasks(ctx, types.TaskFilterSpec{
		Time:  &types.TaskFilterSpecByTime{TimeType: types.TaskFilterSpecTimeOptionQueuedTime, BeginTime: &begin},
		State: []types.TaskInfoState{types.TaskInfoStateSuccess},
	})
	if err != nil {
		return "", fmt.Errorf("asking for the history of tasks: %w", err)
	}
	defer func() { _ = history.Destroy(context.WithoutCancel(ctx)) }()
	for range historyPages {
		page, err := history.ReadNextTasks(ctx, historyPage)
		if err != nil {
			return "", fmt.Errorf("reading the history of tasks: %w", err)
		}
		for i := range page {
			end = cmp.Or(endOf(&page[i], vm), end)
		}
		if end == Destroyed || len(page) < historyPage {
			break
		}
	}
	return end, nil
}

// endOf is how a task has ended the VM, empty if it has not. The names of such tasks are
// those of vCenter's list of descriptions.
func endOf(info *types.TaskInfo, vm string) End {
	if info.State != types.TaskInfoStateSuccess || info.Entity == nil || *info.Entity != (types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}) {
		return ""
	}
	switch info.DescriptionId {
	case "VirtualMachine.destroy", "ManagedEntity.destroy":
		return Destroyed
	case "VirtualMachine.unregister":
		return Unregistered
	}
	return ""
}
