// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// promoteDescriptionID is the description ID of vCenter's tasks that promote disks.
const promoteDescriptionID = "VirtualMachine.promoteDisks"

// Promote makes the VM's disks independent of disks outside of the VM, and reports the progress in percent.
// If an earlier process has started the promotion, Promote waits for it.
func (a *Actor) Promote(ctx context.Context, vm types.ManagedObjectReference, progress func(int32)) error {
	disks := observe.LinkedDisks(a.Inventory.Get(vm))
	if len(disks) == 0 {
		return nil
	}
	task, err := a.startPromotion(ctx, vm, disks)
	if err == nil {
		_, err = a.Inventory.FollowTask(ctx, task, progress)
	}
	if running, ok := vimfault.RunningTask(err); ok {
		// A task may fail at its end because another task was running.
		if ours, rerr := a.isPromotion(ctx, running, vm); rerr == nil && ours {
			_, err = a.Inventory.FollowTask(ctx, running, progress)
		}
	}
	if err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("promoting the disks of %s: %w", vm.Value, err))
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm == nil || len(observe.LinkedDisks(vm)) == 0 })
}

func (a *Actor) startPromotion(ctx context.Context, vm types.ManagedObjectReference, disks []*types.VirtualDisk) (types.ManagedObjectReference, error) {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	req := types.PromoteDisks_Task{This: vm, Unlink: true}
	for _, d := range disks {
		req.Disks = append(req.Disks, *d)
	}
	res, err := methods.PromoteDisks_Task(ctx, c, &req)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return res.Returnval, nil
}

// isPromotion reports whether a task promotes the disks of the VM.
func (a *Actor) isPromotion(ctx context.Context, task, vm types.ManagedObjectReference) (bool, error) {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return false, err
	}
	var t mo.Task
	if err := property.DefaultCollector(c).RetrieveOne(ctx, task, []string{"info"}, &t); err != nil {
		return false, fmt.Errorf("reading task %s: %w", task.Value, err)
	}
	return t.Info.DescriptionId == promoteDescriptionID && t.Info.Entity != nil && *t.Info.Entity == vm, nil
}

// StopPromotion cancels the promotion that caused err, which is the error of another operation. It
// returns err if no promotion caused it.
func (a *Actor) StopPromotion(ctx context.Context, vm types.ManagedObjectReference, err error) error {
	task, ok := vimfault.RunningTask(err)
	if !ok {
		return err
	}
	if ours, rerr := a.isPromotion(ctx, task, vm); rerr != nil || !ours {
		return err
	}
	c, cerr := a.Session.Vim(ctx)
	if cerr != nil {
		return cerr
	}
	if _, cerr := methods.CancelTask(ctx, c, &types.CancelTask{This: task}); cerr != nil && vimfault.KindOf(cerr) != vimfault.NotFound && vimfault.KindOf(cerr) != vimfault.WrongState {
		return fmt.Errorf("cancelling the promotion of the disks of %s: %w", vm.Value, cerr)
	}
	if _, werr := a.Inventory.WaitTask(ctx, task); werr != nil && ctx.Err() != nil {
		return werr
	}
	return nil
}
