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

// historyPage is the number of tasks read per request, the API's maximum (HistoryCollector, setCollectorPageSize).
// historyPages limits the requests for one VM.
const historyPage, historyPages = 1000, 10

// lookBack extends the search to tasks before the VM was missed. A server that starts, or that reads its inventory
// again, does not observe tasks that ended before. The value is an estimate.
const lookBack = time.Hour

// Removal is the way in which a VM was removed from vCenter's inventory.
type Removal string

const (
	// Destroyed means that the VM was deleted from disk.
	Destroyed Removal = "destroyed"
	// Unregistered means that the VM was removed from the inventory and its files were kept.
	Unregistered Removal = "unregistered"
)

// FindRemoval searches the task history for the task that removed the VM with a managed object ID, from shortly before
// since. The list of recent tasks is not sufficient, because it contains only the last 200 completed tasks. It
// returns an empty Removal if the history has no such task. In that case the VM may still be deleted: no task is
// recorded for the VM when its host is removed.
func (c *Creator) FindRemoval(ctx context.Context, vm string, since time.Time) (end Removal, err error) {
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
		return "", fmt.Errorf("requesting the task history: %w", err)
	}
	defer func() { _ = history.Destroy(context.WithoutCancel(ctx)) }()
	for range historyPages {
		page, err := history.ReadNextTasks(ctx, historyPage)
		if err != nil {
			return "", fmt.Errorf("reading the task history: %w", err)
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

// endOf returns how a task removed the VM, or an empty Removal. The task names are from vCenter's list of descriptions.
func endOf(info *types.TaskInfo, vm string) Removal {
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
