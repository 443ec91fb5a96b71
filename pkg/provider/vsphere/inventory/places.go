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

// errFolderGone ends a stream: the view of a folder that is gone is empty for ever.
var errFolderGone = errors.New("the managed folder was deleted")

// places say by which of its two filters the stream has a virtual machine.
type places struct {
	// inside are those of the managed folder, outside those of the list.
	inside, outside map[types.ManagedObjectReference]struct{}
	// followed are in the list, or shall be in that of the next stream.
	followed map[types.ManagedObjectReference]struct{}
	// back are in the list and in the managed folder; they leave the list with the next
	// change of it, so that leaving costs no call of its own.
	back []types.ManagedObjectReference
	// view is the list, nil while the stream is being rebuilt.
	view *types.ManagedObjectReference
}

func newPlaces() places {
	return places{
		inside: map[types.ManagedObjectReference]struct{}{}, outside: map[types.ManagedObjectReference]struct{}{},
		followed: map[types.ManagedObjectReference]struct{}{},
	}
}

// reset begins a stream, which reports everything anew.
func (p *places) reset() {
	clear(p.inside)
	clear(p.outside)
	p.back = nil
}

// note remembers what an update of the filter says about the place of a virtual
// machine.
func (p *places) note(u types.ObjectUpdate, outside bool) {
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

// held is true for what the stream has by one filter or the other.
func (p *places) held(ref types.ManagedObjectReference) bool {
	_, inside := p.inside[ref]
	_, outside := p.outside[ref]
	return inside || outside
}

// elsewhere is true for what only the list has.
func (p *places) elsewhere(ref types.ManagedObjectReference) bool {
	_, inside := p.inside[ref]
	_, outside := p.outside[ref]
	return outside && !inside
}

// notePlaces remembers which virtual machines are in the managed folder, and returns
// those of which that has changed.
func (i *Inventory) notePlaces(b batch) []types.ManagedObjectReference {
	i.mu.Lock()
	defer i.mu.Unlock()
	var moved []types.ManagedObjectReference
	note := func(u types.ObjectUpdate, outside bool) {
		before := i.places.elsewhere(u.Obj)
		i.places.note(u, outside)
		if i.places.elsewhere(u.Obj) != before {
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

// announce tells of virtual machines that are somewhere else now, which no property of
// theirs says.
func (i *Inventory) announce(moved []types.ManagedObjectReference) {
	for _, ref := range moved {
		if vm := i.Get(ref); vm != nil && i.opts.Changed != nil {
			i.opts.Changed(nil, vm)
		}
	}
}

// Outside reports whether the virtual machine is followed although it is not in the
// managed folder.
func (i *Inventory) Outside(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.places.elsewhere(ref)
}

// Follow keeps the record of a virtual machine up to date wherever it is. Those in the
// managed folder are followed anyway.
func (i *Inventory) Follow(ctx context.Context, refs ...types.ManagedObjectReference) error {
	i.mu.Lock()
	var add []types.ManagedObjectReference
	for _, ref := range refs {
		_, followed := i.places.followed[ref]
		if !followed && !i.places.held(ref) {
			i.places.followed[ref] = struct{}{}
			add = append(add, ref)
		}
	}
	view := i.places.view
	i.mu.Unlock()
	if view == nil || len(add) == 0 {
		return nil // The next stream takes them in.
	}
	c, err := i.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	return i.watch(ctx, c, *view, add)
}

// watch puts virtual machines into the list. What is gone by now is not followed.
func (i *Inventory) watch(ctx context.Context, c *vim25.Client, view types.ManagedObjectReference, refs []types.ManagedObjectReference) error {
	i.mu.Lock()
	back := i.places.back
	i.places.back = nil
	i.mu.Unlock()
	res, err := methods.ModifyListView(ctx, c, &types.ModifyListView{This: view, Add: refs, Remove: back})
	gone := refs
	if err == nil {
		gone = res.Returnval
	}
	i.mu.Lock()
	for _, ref := range gone {
		delete(i.places.followed, ref)
	}
	i.mu.Unlock()
	if err != nil {
		return fmt.Errorf("watching virtual machines outside of the managed folder: %w", err)
	}
	return nil
}

// resumeFollowing puts what is followed into the list of a new stream.
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

// departed reads virtual machines that the stream has lost sight of. One that was moved
// out of the managed folder is followed there; one that is gone is forgotten. It returns
// those that are there.
func (i *Inventory) departed(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	// What was forgotten, because it was destroyed, is not asked for.
	refs = slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return i.Get(ref) == nil })
	if len(refs) == 0 {
		return nil, nil
	}
	vms, err := i.whole(ctx, c, refs)
	if err == nil {
		err = i.learnHosts(ctx, c, vms)
	}
	if err != nil {
		return nil, fmt.Errorf("reading virtual machines that the stream lost: %w", err)
	}
	i.mu.Lock()
	for _, ref := range refs {
		delete(i.places.followed, ref) // If it was in the list, it no longer is.
	}
	i.mu.Unlock()
	return i.keep(ctx, refs, vms)
}
