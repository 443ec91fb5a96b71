// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// taskRecheck is how long a waiter waits for the stream before it reads its task directly. A longer silence means
// that the stream has failed unnoticed.
const taskRecheck = 20 * time.Second

// waitedTask is a task with a waiter.
type waitedTask struct {
	task mo.Task
	ch   chan types.TaskInfo
	// progress, if set, is called with the task's progress.
	progress func(percent int32)
}

// tasks are the tasks with waiters. view is nil while the stream is rebuilt. client belongs to the view's session.
type tasks struct {
	session *session.Session

	mu      sync.Mutex
	view    *types.ManagedObjectReference
	client  *vim25.Client
	waiting map[types.ManagedObjectReference]*waitedTask
	// ended are ended tasks that are still in the view. They are removed with its next change, which saves a call.
	ended []types.ManagedObjectReference
	// joining are added to the view with its next change. changing is true during a change.
	joining  []types.ManagedObjectReference
	changing bool
}

func newTasks(s *session.Session) *tasks {
	return &tasks{session: s, waiting: map[types.ManagedObjectReference]*waitedTask{}}
}

// update delivers the end of a task to its waiter. Servers report info as a whole or by its fields.
func (t *tasks) update(u types.ObjectUpdate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.waiting[u.Obj]
	if !ok {
		return
	}
	for _, c := range u.ChangeSet {
		if c.Name == "info" || strings.HasPrefix(c.Name, "info.") {
			mo.ApplyPropertyChange(&w.task, []types.PropertyChange{c})
		}
	}
	if w.progress != nil && w.task.Info.Progress != 0 {
		w.progress(w.task.Info.Progress)
	}
	if hasEnded(w.task.Info) {
		delete(t.waiting, u.Obj)
		t.ended = append(t.ended, u.Obj)
		w.ch <- w.task.Info
	}
}

func hasEnded(info types.TaskInfo) bool {
	return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
}

// WaitTask waits for the end of a task and returns its result. If the task fails, it returns a vimfault.TaskError.
// If vCenter no longer has the task, it returns a vimfault.TaskLostError. If ctx ends first, it cancels the task
// and waits a few seconds for its end, unless the cause is driver.ErrShutdown.
func (t *tasks) WaitTask(ctx context.Context, ref types.ManagedObjectReference) (types.AnyType, error) {
	return t.FollowTask(ctx, ref, nil)
}

// FollowTask is WaitTask with a callback for the task's progress in percent. progress must not block.
func (t *tasks) FollowTask(ctx context.Context, ref types.ManagedObjectReference, progress func(percent int32)) (types.AnyType, error) {
	ch := t.await(ctx, ref, progress)
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, ref)
	}()
	c, err := t.session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	recheck := time.NewTicker(taskRecheck)
	defer recheck.Stop()
	return awaitTask(ctx, c, ref, ch, recheck.C)
}

// await registers a waiter and returns the channel for the task's end.
func (t *tasks) await(ctx context.Context, ref types.ManagedObjectReference, progress func(percent int32)) <-chan types.TaskInfo {
	w := &waitedTask{ch: make(chan types.TaskInfo, 1), progress: progress}
	w.task.Self = ref
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[ref] = w
	t.joining = append(t.joining, ref)
	go t.changeView(context.WithoutCancel(ctx)) // It may continue with other waiters' tasks.
	return w.ch
}

// changeView adds joining tasks to the view. All tasks that join during a call are added with one further call.
func (t *tasks) changeView(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.view != nil && len(t.joining) > 0 && !t.changing {
		c, change := t.client, types.ModifyListView{This: *t.view, Add: t.joining, Remove: t.ended}
		t.joining, t.ended, t.changing = nil, nil, true
		t.mu.Unlock()
		// An error means that the view ended with its session. The rebuilt stream adds the tasks.
		_, _ = methods.ModifyListView(ctx, c, &change)
		t.mu.Lock()
		t.changing = false
	}
}

// awaitTask waits for the stream to report the end of a task. It reads the task at every recheck.
func awaitTask(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, ch <-chan types.TaskInfo, recheck <-chan time.Time) (types.AnyType, error) {
	for {
		select {
		case info := <-ch:
			return taskResult(info)
		case <-recheck:
			switch info, err := readTask(ctx, c, ref); {
			case vimfault.IsNotFound(err, ref):
				return nil, &vimfault.TaskLostError{Task: ref}
			case err == nil && hasEnded(info):
				return taskResult(info)
			}
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, driver.ErrShutdown) {
				return nil, cause
			}
			cancelTask(context.WithoutCancel(ctx), c, ref, ch, cancelGrace)
			return nil, ctx.Err()
		}
	}
}

const (
	// cancelGrace is the maximum time that a cancelled task may take to end.
	cancelGrace = 10 * time.Second
	// cancelRecheck is the interval between reads of a cancelled task. A process that is stopping has no stream
	// that could report the end.
	cancelRecheck = 200 * time.Millisecond
)

// cancelTask cancels a task and waits for its end, so that a cleanup finds all effects of the task. It reports
// whether the task has ended.
func cancelTask(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, ch <-chan types.TaskInfo, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_, _ = methods.CancelTask(ctx, c, &types.CancelTask{This: ref})
	again := time.NewTicker(cancelRecheck)
	defer again.Stop()
	for {
		select {
		case <-ch:
			return true
		case <-again.C:
			if info, err := readTask(ctx, c, ref); vimfault.IsNotFound(err, ref) || err == nil && hasEnded(info) {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// Awaits reports whether a task has a waiter.
func (t *tasks) Awaits(ref types.ManagedObjectReference) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.waiting[ref]
	return ok
}

func taskResult(info types.TaskInfo) (types.AnyType, error) {
	if info.State == types.TaskInfoStateError {
		return nil, &vimfault.TaskError{Fault: info.Error}
	}
	return info.Result, nil
}

func readTask(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (types.TaskInfo, error) {
	var t mo.Task
	err := mo.RetrieveProperties(ctx, c, c.ServiceContent.PropertyCollector, ref, &t)
	return t.Info, err
}

// pause is called when the stream has ended.
func (t *tasks) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view = nil
}

// resume adds the tasks with waiters to the view of a new stream.
func (t *tasks) resume(ctx context.Context, c *vim25.Client, view types.ManagedObjectReference) error {
	t.mu.Lock()
	t.view, t.client, t.ended, t.joining = &view, c, nil, nil
	refs := slices.Collect(maps.Keys(t.waiting))
	t.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	if _, err := methods.ModifyListView(ctx, c, &types.ModifyListView{This: view, Add: refs}); err != nil {
		return fmt.Errorf("watching running tasks: %w", err)
	}
	return nil
}
