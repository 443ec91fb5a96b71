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

// taskRecheck is how long a waiter trusts the silence of the stream before it
// reads its task itself: only a stream that broke unnoticed is that silent.
const taskRecheck = 20 * time.Second

// waitedTask is a task that somebody waits for.
type waitedTask struct {
	task mo.Task
	ch   chan types.TaskInfo
	// progress, if set, is told how far it is.
	progress func(percent int32)
}

// tasks are those that somebody waits for. The view is nil while the stream is being
// rebuilt; client is of its session.
type tasks struct {
	session *session.Session

	mu      sync.Mutex
	view    *types.ManagedObjectReference
	client  *vim25.Client
	waiting map[types.ManagedObjectReference]*waitedTask
	// ended are still in the view; they leave it with the next change of it, so
	// that leaving costs no call of its own.
	ended []types.ManagedObjectReference
	// joining enter the view with its next change; changing while one is under way.
	joining  []types.ManagedObjectReference
	changing bool
}

func newTasks(s *session.Session) *tasks {
	return &tasks{session: s, waiting: map[types.ManagedObjectReference]*waitedTask{}}
}

// update delivers the end of a task to who waits for it. Servers report info
// as a whole or by its fields.
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
	if ended(w.task.Info) {
		delete(t.waiting, u.Obj)
		t.ended = append(t.ended, u.Obj)
		w.ch <- w.task.Info
	}
}

func ended(info types.TaskInfo) bool {
	return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
}

// WaitTask waits for the end of a task and returns its result. A failure of the
// task is a vimfault.TaskError, and a task that vCenter has forgotten a
// vimfault.TaskLostError. When ctx ends first, the task is cancelled and
// its end is awaited for a few seconds more, unless the cause is driver.ErrLeave.
func (t *tasks) WaitTask(ctx context.Context, ref types.ManagedObjectReference) (types.AnyType, error) {
	return t.FollowTask(ctx, ref, nil)
}

// FollowTask is WaitTask that tells meanwhile how far the task is, in percent. progress must
// not block.
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

// await returns the channel over which the end of a task comes.
func (t *tasks) await(ctx context.Context, ref types.ManagedObjectReference, progress func(percent int32)) <-chan types.TaskInfo {
	w := &waitedTask{ch: make(chan types.TaskInfo, 1), progress: progress}
	w.task.Self = ref
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[ref] = w
	t.joining = append(t.joining, ref)
	go t.changeView(context.WithoutCancel(ctx)) // It may go on with what others wait for.
	return w.ch
}

// changeView puts the tasks that join into the view. What joins meanwhile goes in with
// one call more, however much it is.
func (t *tasks) changeView(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.view != nil && len(t.joining) > 0 && !t.changing {
		c, change := t.client, types.ModifyListView{This: *t.view, Add: t.joining, Remove: t.ended}
		t.joining, t.ended, t.changing = nil, nil, true
		t.mu.Unlock()
		// An error means that the view went with its session: the rebuilt
		// stream takes the tasks in.
		_, _ = methods.ModifyListView(ctx, c, &change)
		t.mu.Lock()
		t.changing = false
	}
}

// awaitTask waits for what the stream says of a task, and reads it at every recheck.
func awaitTask(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, ch <-chan types.TaskInfo, recheck <-chan time.Time) (types.AnyType, error) {
	for {
		select {
		case info := <-ch:
			return taskResult(info)
		case <-recheck:
			switch info, err := readTask(ctx, c, ref); {
			case vimfault.Gone(err, ref):
				return nil, &vimfault.TaskLostError{Task: ref}
			case err == nil && ended(info):
				return taskResult(info)
			}
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, driver.ErrLeave) {
				return nil, cause
			}
			cancelTask(context.WithoutCancel(ctx), c, ref, ch, cancelGrace)
			return nil, ctx.Err()
		}
	}
}

const (
	// cancelGrace is how long a task that was cancelled may take to end.
	cancelGrace = 10 * time.Second
	// cancelRecheck is how often it is read meanwhile: a process that ends has no stream
	// any more that would tell of it.
	cancelRecheck = 200 * time.Millisecond
)

// cancelTask cancels a task and waits for its end, so that who cleans up after
// it finds what it has done and nothing comes after. It reports whether it has ended.
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
			if info, err := readTask(ctx, c, ref); vimfault.Gone(err, ref) || err == nil && ended(info) {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// Awaits reports whether somebody waits for a task.
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

// resume puts the awaited tasks into the view of a new stream.
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
