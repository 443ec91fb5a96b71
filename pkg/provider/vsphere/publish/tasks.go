// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// activationHeader gives the task of a call an activation ID, as VM Operator does.
const activationHeader = "vapi-ctx-actid"

// mostTasks is how many tasks of one request are looked at, which has one at a time.
const mostTasks = 100

func activation(pub *provider.Publication) string { return "slipway-publish-" + string(pub.UID) }

// running are the tasks of the request that have not ended.
func (p *Publisher) running(ctx context.Context, pub *provider.Publication) (out []types.ManagedObjectReference, err error) {
	vim, err := p.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	history, err := task.NewManager(vim).CreateCollectorForTasks(ctx, types.TaskFilterSpec{
		ActivationId: []string{activation(pub)},
		State:        []types.TaskInfoState{types.TaskInfoStateRunning, types.TaskInfoStateQueued},
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the tasks of request %s: %w", pub.NamespacedName, err)
	}
	defer func() { _ = history.Destroy(context.WithoutCancel(ctx)) }()
	page, err := history.ReadNextTasks(ctx, mostTasks)
	if err != nil {
		return nil, fmt.Errorf("reading the tasks of request %s: %w", pub.NamespacedName, err)
	}
	for i := range page {
		// What the filter means is vCenter's; what is meant is said here once more.
		info := &page[i]
		if info.ActivationId == activation(pub) && (info.State == types.TaskInfoStateRunning || info.State == types.TaskInfoStateQueued) {
			out = append(out, info.Task)
		}
	}
	return out, nil
}

// awaitTasks waits for what an earlier process has begun; how it ended, the item tells.
func (p *Publisher) awaitTasks(ctx context.Context, pub *provider.Publication) error {
	refs, err := p.running(ctx, pub)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		_, _ = p.Inventory.WaitTask(ctx, ref)
	}
	return ctx.Err()
}

// endTasks cancels what runs for a request and waits until it has ended.
func (p *Publisher) endTasks(ctx context.Context, pub *provider.Publication) error {
	refs, err := p.running(ctx, pub)
	if err != nil || len(refs) == 0 {
		return err
	}
	vim, err := p.Session.Vim(ctx)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if _, err := methods.CancelTask(ctx, vim, &types.CancelTask{This: ref}); err != nil && !vimfault.Gone(err, ref) && vimfault.KindOf(err) != vimfault.WrongState {
			return fmt.Errorf("cancelling task %s of request %s: %w", ref.Value, pub.NamespacedName, err)
		}
		_, _ = p.Inventory.WaitTask(ctx, ref)
	}
	return ctx.Err()
}
