// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
)

// A virtual machine that was reverted to its first snapshot, which is then removed, follows
// none any more, and keeps the others.
func TestTheFirstSnapshotCanBeRemovedWhileItIsTheCurrentOne(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	vm := create(ctx, t, c, findPlaces(ctx, t, c), machine("db"))
	done := func(task *object.Task, err error) {
		t.Helper()
		wait(ctx, t, task, err)
	}
	for _, name := range []string{"first", "second"} {
		done(vm.CreateSnapshot(ctx, name, "", false, false))
	}
	done(vm.RevertToSnapshot(ctx, "first", true))
	done(vm.RemoveSnapshot(ctx, "first", false, nil))
	var got mo.VirtualMachine
	if err := vm.Properties(ctx, vm.Reference(), []string{"snapshot"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Snapshot == nil || got.Snapshot.CurrentSnapshot != nil {
		t.Fatalf("the snapshots are %+v, want none the current one", got.Snapshot)
	}
	var left []string
	for _, root := range got.Snapshot.RootSnapshotList {
		left = append(left, root.Name)
	}
	if diff := cmp.Diff([]string{"second"}, left); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
}
