// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// readPage bounds how many virtual machines one call reads, so that answers
// stay below a few megabytes.
const readPage = 100

// Refresh reads the virtual machine, publishes the record and returns it. A
// virtual machine that is gone is forgotten, and nil is returned.
func (i *Inventory) Refresh(ctx context.Context, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	c, err := i.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	vms, err := read(ctx, c, []types.ManagedObjectReference{ref})
	if err != nil {
		return nil, fmt.Errorf("reading virtual machine %s: %w", ref.Value, err)
	}
	vm := vms[ref]
	i.store(ref, vm)
	return vm, nil
}

// read returns complete records. Virtual machines that are gone are left out.
func read(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) (map[types.ManagedObjectReference]*mo.VirtualMachine, error) {
	out := make(map[types.ManagedObjectReference]*mo.VirtualMachine, len(refs))
	for len(refs) > 0 {
		page := refs[:min(len(refs), readPage)]
		refs = refs[len(page):]
		content, err := retrieve(ctx, c, page)
		if vimfault.KindOf(err) == vimfault.NotFound && len(page) > 1 {
			// One that is gone fails the whole page.
			for _, ref := range page {
				one, err := read(ctx, c, []types.ManagedObjectReference{ref})
				if err != nil {
					return nil, err
				}
				if vm, ok := one[ref]; ok {
					out[ref] = vm
				}
			}
			continue
		}
		if vimfault.KindOf(err) == vimfault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range content {
			out[o.Obj] = fromContent(o)
		}
	}
	return out, nil
}

func retrieve(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference) ([]types.ObjectContent, error) {
	objects := make([]types.ObjectSpec, 0, len(refs))
	for _, ref := range refs {
		objects = append(objects, types.ObjectSpec{Obj: ref})
	}
	res, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{
		This: c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: allPaths}},
			ObjectSet: objects,
		}},
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}
