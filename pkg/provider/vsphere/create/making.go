// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Making names a task that may still make a VM which nobody waits for: one that clones,
// deploys or creates, and that was begun before a time. vCenter goes on with what a
// process has asked for that is gone, and shows the VM at the end. Whose tasks they are
// does not count: in whose name a deployment runs is not documented. It is empty when
// there is none.
func (c *Creator) Making(ctx context.Context, before time.Time) (string, error) {
	if err := c.checkClock(ctx); err != nil {
		return "", err
	}
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return "", err
	}
	collector := property.DefaultCollector(vim)
	var manager mo.TaskManager
	if err := collector.RetrieveOne(ctx, *vim.ServiceContent.TaskManager, []string{"recentTask"}, &manager); err != nil {
		return "", fmt.Errorf("reading the tasks of vCenter: %w", err)
	}
	refs := slices.DeleteFunc(manager.RecentTask, c.Actor.Inventory.Awaits)
	if len(refs) == 0 {
		return "", nil
	}
	var tasks []mo.Task
	// A task that vCenter forgets meanwhile fails the call: then it is asked again.
	if err := collector.Retrieve(ctx, refs, []string{"info"}, &tasks); err != nil {
		return "", fmt.Errorf("reading the tasks of vCenter: %w", err)
	}
	for i := range tasks {
		if makes(&tasks[i].Info, before) {
			return tasks[i].Self.Value, nil
		}
	}
	return "", nil
}

// makes is true for a task that has not ended, was begun before a time, and may make a
// VM. The names are those of vCenter's list of tasks, as far as they are known; a
// deployment from a library has several.
func makes(info *types.TaskInfo, before time.Time) bool {
	if info.State != types.TaskInfoStateRunning && info.State != types.TaskInfoStateQueued || info.QueueTime.After(before.Add(clockSkew)) {
		return false
	}
	name := strings.ToLower(info.DescriptionId)
	for _, part := range []string{"clone", "createvm", "importvapp", "deploy", "instantiate"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
