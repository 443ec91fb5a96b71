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

// activationHeader is the HTTP header that sets the activation ID of a call's task. VM Operator uses it too.
const activationHeader = "vapi-ctx-actid"

// maxTasks is the maximum number of tasks to read for a request. A request has one task at a time.
const maxTasks = 100

func activation(pub *provider.Publication) string { return "slipway-publish-" + string(pub.UID) }

// running returns the request's tasks that have not ended.
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
		return nil, fmt.Errorf("querying the tasks of request %s: %w", pub.NamespacedName, err)
	}
	defer func() { _ = history.Destroy(context.WithoutCancel(ctx)) }()
	page, err := history.ReadNextTasks(ctx, maxTasks)
	if err != nil {
		return nil, fmt.Errorf("reading the tasks of request %s: %w", pub.NamespacedName, err)
	}
	for i := range page {
		// vCenter's interpretation of the filter is not documented, so the tasks are checked again.
		info := &page[i]
		if info.ActivationId == activation(pub) && (info.State == types.TaskInfoStateRunning || info.State == types.TaskInfoStateQueued) {
			out = append(out, info.Task)
		}
	}
	return out, nil
}

// awaitTasks waits for tasks of an earlier process. The item shows their result.
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

// endTasks cancels a request's tasks and waits until they have ended.
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
		if _, err := methods.CancelTask(ctx, vim, &types.CancelTask{This: ref}); err != nil && !vimfault.IsNotFound(err, ref) && vimfault.KindOf(err) != vimfault.WrongState {
			return fmt.Errorf("cancelling task %s of request %s: %w", ref.Value, pub.NamespacedName, err)
		}
		_, _ = p.Inventory.WaitTask(ctx, ref)
	}
	return ctx.Err()
}
