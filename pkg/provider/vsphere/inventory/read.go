// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// readPage is the number of virtual machines that one call reads, so that responses stay below a few megabytes.
const readPage = 100

// Refresh reads a virtual machine, publishes its record and returns it. If the virtual machine was deleted, Refresh
// removes the record and returns nil. If the stream does not have the virtual machine, it is followed from now on.
func (i *Inventory) Refresh(ctx context.Context, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	c, err := i.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	vms, err := i.readFull(ctx, c, []types.ManagedObjectReference{ref})
	if err != nil {
		return nil, fmt.Errorf("reading virtual machine %s: %w", ref.Value, err)
	}
	vm := vms[ref]
	i.mu.Lock()
	synced := i.synced
	if vm != nil && !(synced && reflect.DeepEqual(i.vms[ref], vm)) {
		i.direct[ref] = i.waits
	}
	i.mu.Unlock()
	i.store(ref, vm)
	if vm == nil || !synced {
		return vm, nil
	}
	return vm, i.Follow(ctx, ref)
}

// verify reads directly read virtual machines again until the stream certainly has their state. The stream has the
// state if a wait that began after the read has ended and the state has not changed since. This is necessary because a
// stream does not report the deletion of an object that it never had. A server may also omit changes of an object that
// was hidden for a moment.
func (i *Inventory) verify(ctx context.Context, c *vim25.Client, wait int) error {
	i.mu.Lock()
	refs := slices.Collect(maps.Keys(i.direct))
	i.mu.Unlock()
	vms, err := i.readFull(ctx, c, refs)
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
	_, err = i.storeAll(ctx, refs, vms)
	return err
}

// storeAll stores the records of virtual machines. It follows the existing ones and returns them.
func (i *Inventory) storeAll(ctx context.Context, refs []types.ManagedObjectReference, vms map[types.ManagedObjectReference]*mo.VirtualMachine) ([]types.ManagedObjectReference, error) {
	var existing []types.ManagedObjectReference
	for _, ref := range refs {
		i.store(ref, vms[ref])
		if vms[ref] != nil {
			existing = append(existing, ref)
		}
	}
	return existing, i.Follow(ctx, existing...)
}

// readFull returns records including host names and snapshot files, which need separate reads.
func (i *Inventory) readFull(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) (map[types.ManagedObjectReference]*mo.VirtualMachine, error) {
	vms, err := read(ctx, c, refs)
	if err == nil {
		err = errors.Join(i.learnHosts(ctx, c, vms), i.learnLayouts(ctx, c, vms))
	}
	return vms, err
}

// read returns complete records. Deleted virtual machines are left out.
func read(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) (map[types.ManagedObjectReference]*mo.VirtualMachine, error) {
	contents, err := readPaths(ctx, c, refs, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[types.ManagedObjectReference]*mo.VirtualMachine, len(contents))
	for ref, content := range contents {
		out[ref] = recordOf(content)
	}
	return out, nil
}

// readPaths reads properties. Deleted virtual machines are left out.
func readPaths(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference, paths []string) (map[types.ManagedObjectReference]types.ObjectContent, error) {
	out := make(map[types.ManagedObjectReference]types.ObjectContent, len(refs))
	for len(refs) > 0 {
		page := refs[:min(len(refs), readPage)]
		refs = refs[len(page):]
		content, err := retrieve(ctx, c, page, paths)
		if len(page) > 1 && vimfault.KindOf(err) == vimfault.NotFound {
			// A deleted virtual machine fails the whole page.
			for _, ref := range page {
				one, err := readPaths(ctx, c, []types.ManagedObjectReference{ref}, paths)
				if err != nil {
					return nil, err
				}
				if content, ok := one[ref]; ok {
					out[ref] = content
				}
			}
			continue
		}
		if vimfault.IsNotFound(err, page[0]) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range content {
			out[o.Obj] = o
		}
	}
	return out, nil
}

func retrieve(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference, paths []string) ([]types.ObjectContent, error) {
	objects := make([]types.ObjectSpec, 0, len(refs))
	for _, ref := range refs {
		objects = append(objects, types.ObjectSpec{Obj: ref})
	}
	res, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{
		This: c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}},
			ObjectSet: objects,
		}},
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}
