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

// Tasks are those that vCenter works on or has ended lately.
type Tasks []types.TaskInfo

// Recent reads the recent tasks of vCenter, without those that are awaited.
func (c *Creator) Recent(ctx context.Context) (Tasks, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	collector := property.DefaultCollector(vim)
	var manager mo.TaskManager
	if err := collector.RetrieveOne(ctx, *vim.ServiceContent.TaskManager, []string{"recentTask"}, &manager); err != nil {
		return nil, fmt.Errorf("reading the tasks of vCenter: %w", err)
	}
	refs := slices.DeleteFunc(manager.RecentTask, c.Actor.Inventory.Awaits)
	if len(refs) == 0 {
		return nil, nil
	}
	var read []mo.Task
	// A task that vCenter forgets meanwhile fails the call: then it is asked again.
	if err := collector.Retrieve(ctx, refs, []string{"info"}, &read); err != nil {
		return nil, fmt.Errorf("reading the tasks of vCenter: %w", err)
	}
	tasks := make(Tasks, len(read))
	for i := range read {
		tasks[i] = read[i].Info
	}
	return tasks, nil
}

// Making names a task that may still make a VM which nobody waits for: one that clones,
// deploys or creates, and that was begun before a time. vCenter goes on with what a
// process has asked for that is gone, and shows the VM at the end. Whose tasks they are
// does not count: in whose name a deployment runs is not documented. It is empty when
// there is none.
func (t Tasks) Making(before time.Time) string {
	for i := range t {
		if makes(&t[i], before) {
			return t[i].Task.Value
		}
	}
	return ""
}

// Destroyed is true when one of them has destroyed the VM of that managed object ID. The
// names of such tasks are those of vCenter's list of descriptions.
func (t Tasks) Destroyed(vm string) bool {
	return slices.ContainsFunc(t, func(info types.TaskInfo) bool {
		return info.State == types.TaskInfoStateSuccess && info.Entity != nil &&
			*info.Entity == types.ManagedObjectReference{Type: "VirtualMachine", Value: vm} &&
			(info.DescriptionId == "VirtualMachine.destroy" || info.DescriptionId == "ManagedEntity.destroy")
	})
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
