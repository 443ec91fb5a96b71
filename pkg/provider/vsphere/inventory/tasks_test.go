// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Tasks do not survive a restart of vCenter, and the stream does not report that.
func TestWaitTask_ReturnsTaskLostErrorForAForgottenTask(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		forgotten := types.ManagedObjectReference{Type: "Task", Value: "task-forgotten"}
		recheck := make(chan time.Time, 1)
		recheck <- time.Time{}
		_, err := awaitTask(ctx, c, forgotten, nil, recheck)
		var lost *vimfault.TaskLostError
		if !errors.As(err, &lost) || lost.Task != forgotten {
			t.Errorf("error %v, want a TaskLostError for %s", err, forgotten.Value)
		}
		if kind := vimfault.KindOf(err); kind == vimfault.NotFound {
			t.Errorf("a lost task has the kind %s: a destroy with an unknown result would count as done", kind)
		}
	})
}

// A process that is stopping closes its stream before the last tasks have ended.
func TestCancelTask_DetectsTheEndWithoutAStream(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		vm, err := find.NewFinder(c).VirtualMachine(ctx, "/DC0/vm/DC0_H0_VM0")
		if err != nil {
			t.Fatal(err)
		}
		task, err := vm.PowerOff(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !cancelTask(ctx, c, task.Reference(), nil, time.Minute) {
			t.Error("the end of the task was not detected")
		}
	})
}

// slowViews delays each change of a view by a second and records the added and removed objects.
type slowViews struct {
	mu      sync.Mutex
	changes []string
}

func (l *slowViews) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	time.Sleep(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := req.(*methods.ModifyListViewBody).Req
	l.changes = append(l.changes, fmt.Sprintf("%s +%d -%d", r.This.Value, len(r.Add), len(r.Remove)))
	res.(*methods.ModifyListViewBody).Res = &types.ModifyListViewResponse{}
	return nil
}

func TestTasks_AreAddedToTheViewTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l slowViews
		i := New(Options{})
		task := func(n int) types.ManagedObjectReference {
			return types.ManagedObjectReference{Type: "Task", Value: fmt.Sprintf("task-%d", n)}
		}
		begin := func(from, to int) {
			for n := from; n < to; n++ {
				i.await(t.Context(), task(n), nil)
			}
			synctest.Wait()
		}
		begin(0, 5) // There is no stream yet. It adds them when it begins.
		i.tasks.client = &vim25.Client{RoundTripper: &l}
		i.tasks.view, i.tasks.joining = &types.ManagedObjectReference{Type: "ListView", Value: "first"}, nil
		begin(5, 6)
		begin(6, 16) // While the view is being changed.
		time.Sleep(3 * time.Second)
		synctest.Wait()
		i.tasks.update(types.ObjectUpdate{Obj: task(5), ChangeSet: []types.PropertyChange{
			{Name: "info", Val: types.TaskInfo{State: types.TaskInfoStateSuccess}},
		}})
		begin(16, 17)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want := []string{"first +1 -0", "first +10 -0", "first +1 -1"}
		if diff := cmp.Diff(want, l.changes); diff != "" {
			t.Errorf("changes of the view (-want +got):\n%s", diff)
		}
	})
}
