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

// FindCreateTask returns the ID of a task that may still create a VM and that no process waits for: a clone, deploy or
// create task that started before a time. vCenter completes tasks of a process that has stopped, and the VM appears
// at the end. The task's user is ignored, because it is not documented for a deployment. It returns an empty string
// if there is no such task.
func (c *Creator) FindCreateTask(ctx context.Context, before time.Time) (string, error) {
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
		return "", fmt.Errorf("reading vCenter's tasks: %w", err)
	}
	refs := slices.DeleteFunc(manager.RecentTask, c.Actor.Inventory.Awaits)
	if len(refs) == 0 {
		return "", nil
	}
	var tasks []mo.Task
	// If vCenter removes a task in the meantime, the call fails and the caller retries.
	if err := collector.Retrieve(ctx, refs, []string{"info"}, &tasks); err != nil {
		return "", fmt.Errorf("reading vCenter's tasks: %w", err)
	}
	for i := range tasks {
		if mayCreate(&tasks[i].Info, before) {
			return tasks[i].Self.Value, nil
		}
	}
	return "", nil
}

// mayCreate reports whether a task has not ended, started before a time and may create a VM. The function
// knows the names in vCenter's task list. A library deployment has several names.
func mayCreate(info *types.TaskInfo, before time.Time) bool {
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
