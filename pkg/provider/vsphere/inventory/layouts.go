// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// layoutPath is the property with the sizes of snapshot files. It is large and changes whenever a snapshot grows.
// It is read only for virtual machines with snapshots, after their snapshots or configuration have changed.
const layoutPath = "layoutEx"

// learnLayouts reads the files of the virtual machines whose snapshots have changed.
func (i *Inventory) learnLayouts(ctx context.Context, c *vim25.Client, vms map[types.ManagedObjectReference]*mo.VirtualMachine) error {
	var refs []types.ManagedObjectReference
	for ref, vm := range vms {
		switch {
		case vm == nil:
		case vm.Snapshot == nil:
			vm.LayoutEx = nil
		case !hasLayout(vm):
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	contents, err := readPaths(ctx, c, refs, []string{layoutPath})
	if err != nil {
		return fmt.Errorf("reading the files of snapshots: %w", err)
	}
	for ref, content := range contents {
		for _, p := range content.PropSet {
			if layout, ok := p.Val.(types.VirtualMachineFileLayoutEx); ok && p.Name == layoutPath {
				vms[ref].LayoutEx = &layout
			}
		}
	}
	return nil
}

// hasLayout reports whether the files of exactly the current snapshots are known.
func hasLayout(vm *mo.VirtualMachine) bool {
	if vm.LayoutEx == nil {
		return false
	}
	known := make(map[types.ManagedObjectReference]bool, len(vm.LayoutEx.Snapshot))
	for _, s := range vm.LayoutEx.Snapshot {
		known[s.Key] = true
	}
	count := 0
	var walk func([]types.VirtualMachineSnapshotTree) bool
	walk = func(list []types.VirtualMachineSnapshotTree) bool {
		for i := range list {
			count++
			if !known[list[i].Snapshot] || !walk(list[i].ChildSnapshotList) {
				return false
			}
		}
		return true
	}
	return walk(vm.Snapshot.RootSnapshotList) && count == len(known)
}
