// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A virtual machine is reverted to its first snapshot, which is then removed. It then has no current snapshot and keeps
// the others.
func TestSnapshot_FirstCanBeRemovedWhileItIsCurrent(t *testing.T) {
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

// As recorded of vCenter: see strict/layers.go and guest/cloudinit.go.
func TestSnapshot_ChangesTheFilesOfDisksAndNotTheVersionOfTheConfiguration(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	vm := create(ctx, t, c, findPlaces(ctx, t, c), machine("db"))
	var version string
	files := func() (all []string) {
		t.Helper()
		var got mo.VirtualMachine
		if err := vm.Properties(ctx, vm.Reference(), []string{"config"}, &got); err != nil {
			t.Fatal(err)
		}
		if version == "" {
			version = got.Config.ChangeVersion
		}
		if got.Config.ChangeVersion != version {
			t.Errorf("config.changeVersion is %s, and was %s", got.Config.ChangeVersion, version)
		}
		for _, d := range object.VirtualDeviceList(got.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
			for b, _ := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo); b != nil; b = b.Parent {
				all = append(all, path.Base(b.FileName))
			}
		}
		return all
	}
	base := files()
	if len(base) != 1 {
		t.Fatalf("the disks are %v, want one", base)
	}
	root := strings.TrimSuffix(base[0], ".vmdk")
	one := append([]string{root + "-000001.vmdk"}, base...)
	for _, step := range []struct {
		name string
		do   func() (*object.Task, error)
		want []string
	}{
		{"a snapshot", func() (*object.Task, error) { return vm.CreateSnapshot(ctx, "first", "", false, false) }, one},
		{"another", func() (*object.Task, error) { return vm.CreateSnapshot(ctx, "second", "", false, false) }, append([]string{root + "-000002.vmdk"}, one...)},
		{"a revert", func() (*object.Task, error) { return vm.RevertToSnapshot(ctx, "first", true) }, one},
		{"all are removed", func() (*object.Task, error) { return vm.RemoveAllSnapshot(ctx, nil) }, base},
	} {
		task, err := step.do()
		wait(ctx, t, task, err)
		if diff := cmp.Diff(step.want, files()); diff != "" {
			t.Errorf("files after %s (-want +got):\n%s", step.name, diff)
		}
	}
	if err := s.events.SetGuestInfo(vm.Reference().Value, "local-ipv4", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	files()
}
