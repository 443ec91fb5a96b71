// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
)

func TestForeignVMs_AreOnlyCreatedInANewInventory(t *testing.T) {
	ctx := testContext(t)
	state := t.TempDir()
	names := func(o Options) []string {
		t.Helper()
		o.StateDir = state
		s, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(ctx); err != nil {
				t.Error(err)
			}
		}()
		c := connect(ctx, t, s)
		all, err := find.NewFinder(c.Client).VirtualMachineList(ctx, "/DC0/vm/...")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, vm := range all {
			if vm.Name() == Template {
				continue
			}
			got = append(got, vm.InventoryPath)
			eventually(ctx, t, vm.Name()+" has an address", func() bool { return read(ctx, t, c, vm).Guest.IpAddress != "" })
			if m := read(ctx, t, c, vm); m.Config.Hardware.NumCPU != 1 || m.Config.Hardware.MemoryMB != 1024 {
				t.Errorf("%s has %d CPUs and %d MiB, want 1 and 1024", vm.Name(), m.Config.Hardware.NumCPU, m.Config.Hardware.MemoryMB)
			}
		}
		return got
	}
	want := []string{"/DC0/vm/slipway/legacy/Mail 1", "/DC0/vm/slipway/legacy/wiki"}
	for _, run := range []string{"first", "second"} {
		if diff := cmp.Diff(want, names(Options{ForeignVMs: true})); diff != "" {
			t.Errorf("%s run (-want +got):\n%s", run, diff)
		}
	}
	state = t.TempDir()
	if got := names(Options{}); len(got) > 0 {
		t.Errorf("without the option: %q", got)
	}
	if got := names(Options{ForeignVMs: true}); len(got) > 0 {
		t.Errorf("in an existing inventory: %q", got)
	}
}
