// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// lookInterval is the pause between two looks at what is worked on while everything
// is being read. It is that of a person who waits, and little for vCenter: one call.
const lookInterval = 250 * time.Millisecond

// look reads, in one call, the tasks that are waited for and the virtual machines
// that were read directly. It stands in for the stream, which tells of what happens
// since it began only when it has told of all that was there.
func (i *Inventory) look(ctx context.Context, c *vim25.Client) error {
	refs := i.workedOn()
	if len(refs) == 0 {
		return nil
	}
	objects := make([]types.ObjectSpec, 0, len(refs))
	for _, ref := range refs {
		objects = append(objects, types.ObjectSpec{Obj: ref})
	}
	res, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{
		This: c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			PropSet: []types.PropertySpec{
				{Type: "VirtualMachine", PathSet: streamPaths},
				{Type: "Task", PathSet: []string{"info"}},
			},
			ObjectSet:                     objects,
			ReportMissingObjectsInResults: types.NewBool(true),
		}},
	})
	if err != nil {
		return fmt.Errorf("reading what is worked on: %w", err)
	}
	updates := make([]types.ObjectUpdate, 0, len(res.Returnval))
	for _, o := range res.Returnval {
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: o.Obj}
		for _, p := range o.PropSet {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
		}
		updates = append(updates, u)
	}
	return i.update(ctx, c, updates, nil)
}

// workedOn are the tasks that are waited for and the virtual machines that were read
// directly, so many as one call may read: others have their turn in the next.
func (i *Inventory) workedOn() []types.ManagedObjectReference {
	i.mu.Lock()
	defer i.mu.Unlock()
	var refs []types.ManagedObjectReference
	for ref := range i.tasks.waiting {
		if len(refs) < readPage {
			refs = append(refs, ref)
		}
	}
	for ref := range i.direct {
		if len(refs) < readPage {
			refs = append(refs, ref)
		}
	}
	return refs
}

// verify reads again what was read directly, until the stream surely has what was read:
// an answer to a wait that began later, and nothing new since. A virtual machine that
// is gone no stream tells of that never had it, and of one that was hidden for a moment a
// server may say nothing that tells of what is different from what it told last.
func (i *Inventory) verify(ctx context.Context, c *vim25.Client, wait int) error {
	i.mu.Lock()
	refs := slices.Collect(maps.Keys(i.direct))
	i.mu.Unlock()
	vms, err := i.whole(ctx, c, refs)
	if err != nil {
		return fmt.Errorf("reading virtual machines again: %w", err)
	}
	i.mu.Lock()
	for _, ref := range refs {
		switch {
		case !reflect.DeepEqual(i.vms[ref], vms[ref]):
			i.direct[ref] = i.waits
		case i.direct[ref] < wait:
			delete(i.direct, ref)
		}
	}
	i.mu.Unlock()
	_, err = i.keep(ctx, refs, vms)
	return err
}

// keep stores what was read of virtual machines, and follows those that are there, which
// it returns.
func (i *Inventory) keep(ctx context.Context, refs []types.ManagedObjectReference, vms map[types.ManagedObjectReference]*mo.VirtualMachine) ([]types.ManagedObjectReference, error) {
	var there []types.ManagedObjectReference
	for _, ref := range refs {
		i.store(ref, vms[ref])
		if vms[ref] != nil {
			there = append(there, ref)
		}
	}
	return there, i.Follow(ctx, there...)
}
