// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// eventually waits until a condition is true.
func eventually(ctx context.Context, t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not before the test's deadline", what)
		case <-tick.C:
		}
	}
}

func TestVpxdRestart_DropsSessionsAndTasks(t *testing.T) {
	for name, end := range map[string]bool{"operations end": true, "operations go on": false} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{})
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			victim := create(ctx, t, c, p, machine("victim"))
			s.TaskDelays().Set("CloneVm", 300)
			s.TaskDelays().Set("Destroy_Task", 300)
			pool := p.pool.Reference()
			clone, err := p.template.Clone(ctx, p.folder, "clone", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
			if err != nil {
				t.Fatal(err)
			}
			destroy, err := victim.Destroy(ctx)
			if err != nil {
				t.Fatal(err)
			}
			follow(ctx, t, c, p.folder, "name")
			if len(s.Opened()) != 3 { // view, collector, filter
				t.Fatalf("open before the restart: %v", s.Opened())
			}

			s.RestartVpxd(Restart{EndTasks: end})
			if sessions := s.Sessions(); len(sessions) != 0 || len(s.Opened()) != 0 {
				t.Errorf("after the restart there are the sessions %v with %v", sessions, s.Opened())
			}
			if _, err := p.folder.CreateFolder(ctx, "x"); !fault.Is(err, &types.NotAuthenticated{}) {
				t.Errorf("a call in the old session: got %v, want NotAuthenticated", err)
			}
			again := connect(ctx, t, s)
			for _, task := range []*object.Task{clone, destroy} {
				expectDeleted(ctx, t, again, task)
				if err := object.NewTask(again.Client, task.Reference()).Cancel(ctx); !fault.Is(err, &types.ManagedObjectNotFound{}) {
					t.Errorf("cancel a task from before the restart: got %v, want ManagedObjectNotFound", err)
				}
			}
			if tasks := s.Events().Tasks(); len(tasks) != 0 {
				t.Errorf("tasks that clients see: %v", tasks)
			}
			has := func(name string) bool {
				_, err := s.Events().SetInstanceUUID(name, "") // any event that requires the VM
				return err == nil || fault.Is(err, &types.TaskInProgress{})
			}
			if !end {
				eventually(ctx, t, "the clone is made", func() bool { return has("clone") })
				eventually(ctx, t, "the victim is destroyed", func() bool { return !has("victim") })
				return
			}
			// The running operation has ended: the virtual machine is free for the next one.
			s.TaskDelays().Set("Destroy_Task", 0)
			eventually(ctx, t, "the victim is destroyed by a second call", func() bool {
				task, err := object.NewVirtualMachine(again.Client, victim.Reference()).Destroy(ctx)
				return faultOf(ctx, task, err) == nil
			})
			s.TaskDelays().Set("CloneVm", 0)
			clone, err = object.NewVirtualMachine(again.Client, p.template.Reference()).Clone(ctx, p.folder, "clone", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
			wait(ctx, t, clone, err)
		})
	}
}

func TestVpxdRestart_CanDelayREST(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	s.RestartVpxd(Restart{REST: 300 * time.Millisecond})
	c := connect(ctx, t, s)
	r := newREST(c)
	if err := r.Login(ctx, account()); err == nil {
		t.Error("REST takes logins before it has started")
	}
	eventually(ctx, t, "REST starts", func() bool { return r.Login(ctx, account()) == nil })
}
