// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// errFolderDeleted ends a stream, because the view of a deleted folder stays empty.
var errFolderDeleted = errors.New("the managed folder was deleted")

// locations records which of its two filters the stream has a virtual machine in.
type locations struct {
	// inside are virtual machines of the managed folder, outside those of the list view.
	inside, outside map[types.ManagedObjectReference]struct{}
	// followed are in the list view, or must be in the list view of the next stream.
	followed map[types.ManagedObjectReference]struct{}
	// back are in the list view and in the managed folder. They are removed from the view with its next change,
	// which saves a call.
	back []types.ManagedObjectReference
	// view is the list view, nil while the stream is rebuilt.
	view *types.ManagedObjectReference
}

func newLocations() locations {
	return locations{
		inside: map[types.ManagedObjectReference]struct{}{}, outside: map[types.ManagedObjectReference]struct{}{},
		followed: map[types.ManagedObjectReference]struct{}{},
	}
}

// reset starts a new stream, which reports all virtual machines again.
func (p *locations) reset() {
	clear(p.inside)
	clear(p.outside)
	p.back = nil
}

// note records the location of a virtual machine from an update of a filter.
func (p *locations) note(u types.ObjectUpdate, outside bool) {
	set := p.inside
	if outside {
		set = p.outside
	}
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(set, u.Obj)
		return
	}
	set[u.Obj] = struct{}{}
	if _, followed := p.followed[u.Obj]; followed && !outside {
		delete(p.followed, u.Obj)
		p.back = append(p.back, u.Obj)
	}
}

// isWatched reports whether the stream has the virtual machine in one of its filters.
func (p *locations) isWatched(ref types.ManagedObjectReference) bool {
	_, inside := p.inside[ref]
	_, outside := p.outside[ref]
	return inside || outside
}

// isOutside reports whether only the list view has the virtual machine.
func (p *locations) isOutside(ref types.ManagedObjectReference) bool {
	_, inside := p.inside[ref]
	_, outside := p.outside[ref]
	return outside && !inside
}

// noteLocations records which virtual machines are in the managed folder. It returns those whose location has
// changed.
func (i *Inventory) noteLocations(b batch) []types.ManagedObjectReference {
	i.mu.Lock()
	defer i.mu.Unlock()
	var moved []types.ManagedObjectReference
	note := func(u types.ObjectUpdate, outside bool) {
		before := i.places.isOutside(u.Obj)
		i.places.note(u, outside)
		if i.places.isOutside(u.Obj) != before {
			moved = append(moved, u.Obj)
		}
	}
	for _, u := range b.updates {
		if u.Obj.Type == "VirtualMachine" {
			note(u, false)
		}
	}
	for _, u := range b.outside {
		note(u, true)
	}
	return moved
}

// announce reports virtual machines that have moved, because a move changes no property of a virtual machine.
func (i *Inventory) announce(moved []types.ManagedObjectReference) {
	for _, ref := range moved {
		if vm := i.Get(ref); vm != nil && i.opts.OnChange != nil {
			i.opts.OnChange(nil, vm)
		}
	}
}

// IsOutside reports whether the virtual machine is followed although it is not in the managed folder.
func (i *Inventory) IsOutside(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.places.isOutside(ref)
}

// Follow keeps the record of a virtual machine up to date in any folder. Virtual machines in the managed folder are
// always followed.
func (i *Inventory) Follow(ctx context.Context, refs ...types.ManagedObjectReference) error {
	i.mu.Lock()
	var add []types.ManagedObjectReference
	for _, ref := range refs {
		_, followed := i.places.followed[ref]
		if !followed && !i.places.isWatched(ref) {
			i.places.followed[ref] = struct{}{}
			add = append(add, ref)
		}
	}
	view := i.places.view
	i.mu.Unlock()
	if view == nil || len(add) == 0 {
		return nil // The next stream adds them.
	}
	c, err := i.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	return i.watch(ctx, c, *view, add)
}

// watch adds virtual machines to the list view. Deleted ones are not followed.
func (i *Inventory) watch(ctx context.Context, c *vim25.Client, view types.ManagedObjectReference, refs []types.ManagedObjectReference) error {
	i.mu.Lock()
	back := i.places.back
	i.places.back = nil
	i.mu.Unlock()
	res, err := methods.ModifyListView(ctx, c, &types.ModifyListView{This: view, Add: refs, Remove: back})
	missing := refs
	if err == nil {
		missing = res.Returnval
	}
	i.mu.Lock()
	for _, ref := range missing {
		delete(i.places.followed, ref)
	}
	i.mu.Unlock()
	if err != nil {
		return fmt.Errorf("watching virtual machines outside of the managed folder: %w", err)
	}
	return nil
}

// resumeFollowing adds the followed virtual machines to the list view of a new stream.
func (i *Inventory) resumeFollowing(ctx context.Context, c *vim25.Client, view types.ManagedObjectReference) error {
	i.mu.Lock()
	i.places.view = &view
	refs := slices.Collect(maps.Keys(i.places.followed))
	i.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	return i.watch(ctx, c, view, refs)
}

// readDeparted reads virtual machines that left the stream. One that was moved out of the managed folder is followed.
// The record of a deleted one is removed. It returns the existing virtual machines.
func (i *Inventory) readDeparted(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	// Virtual machines without a record were destroyed and need not be read.
	refs = slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return i.Get(ref) == nil })
	if len(refs) == 0 {
		return nil, nil
	}
	vms, err := i.readFull(ctx, c, refs)
	if err == nil {
		err = i.learnHosts(ctx, c, vms)
	}
	if err != nil {
		return nil, fmt.Errorf("reading virtual machines that left the stream: %w", err)
	}
	i.mu.Lock()
	for _, ref := range refs {
		delete(i.places.followed, ref) // If it was in the list view, it no longer is.
	}
	i.mu.Unlock()
	return i.storeAll(ctx, refs, vms)
}
