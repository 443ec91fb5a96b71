// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"
)

// historyPage is how many tasks are read at once, which is the most that the API allows
// for a page of a collector (API, HistoryCollector, setCollectorPageSize); historyPages
// bounds how much is read for one VM.
const historyPage, historyPages = 1000, 10

// Destroyed asks the history of vCenter whether the VM of that managed object ID was
// destroyed since shortly before a time. The list of recent tasks does not tell: of
// those that ended it has the last 200 only. false may mean that nothing is known.
func (c *Creator) Destroyed(ctx context.Context, vm string, since time.Time) (_ bool, err error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return false, err
	}
	begin := since.Add(-clockSkew)
	history, err := task.NewManager(vim).CreateCollectorForTasks(ctx, types.TaskFilterSpec{
		Time:  &types.TaskFilterSpecByTime{TimeType: types.TaskFilterSpecTimeOptionQueuedTime, BeginTime: &begin},
		State: []types.TaskInfoState{types.TaskInfoStateSuccess},
	})
	if err != nil {
		return false, fmt.Errorf("asking for the history of tasks: %w", err)
	}
	defer func() { _ = history.Destroy(context.WithoutCancel(ctx)) }()
	for range historyPages {
		page, err := history.ReadNextTasks(ctx, historyPage)
		if err != nil {
			return false, fmt.Errorf("reading the history of tasks: %w", err)
		}
		if slices.ContainsFunc(page, func(info types.TaskInfo) bool { return destroyed(&info, vm) }) {
			return true, nil
		}
		if len(page) < historyPage {
			break
		}
	}
	return false, nil
}

// destroyed is true for a task that has destroyed the VM. The names of such tasks are
// those of vCenter's list of descriptions.
func destroyed(info *types.TaskInfo, vm string) bool {
	return info.State == types.TaskInfoStateSuccess && info.Entity != nil &&
		*info.Entity == types.ManagedObjectReference{Type: "VirtualMachine", Value: vm} &&
		(info.DescriptionId == "VirtualMachine.destroy" || info.DescriptionId == "ManagedEntity.destroy")
}
