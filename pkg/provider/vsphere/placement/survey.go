// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// What a survey looks for.
const (
	WhatFolder    = "folder"
	WhatPool      = "resource pool"
	WhatDatastore = "datastore"
	WhatNetwork   = "network"
	WhatPolicy    = "storage policy"
)

// Surveyed is a place, or why there is none.
type Surveyed struct {
	// Zone names it, empty if the flags do.
	Zone string
	// What it is for.
	What string
	// Path is its inventory path, or what the zone calls it.
	Path string
	// Ref of the object.
	Ref types.ManagedObjectReference
	// Err is why it is not usable.
	Err error
}

// Survey looks for every configured place. It makes nothing: in place of a managed
// folder that is still to be made it returns the one that this will be in.
func (r *Resolver) Survey(ctx context.Context) []Surveyed {
	f, dc, c, err := r.finder(ctx)
	if err != nil {
		return []Surveyed{{What: WhatFolder, Err: err}}
	}
	all := []Surveyed{{What: WhatFolder}, {What: WhatPool}, {What: WhatDatastore}}
	folder, pool, datastore := &all[0], &all[1], &all[2]
	folder.Path = r.folderPath(dc)
	folder.Ref, folder.Err = r.surveyFolder(ctx, dc, object.NewSearchIndex(c), folder.Path)
	if p, err := f.ResourcePoolOrDefault(ctx, r.opts.ResourcePool); err != nil {
		pool.Err = explain(pool.What, r.opts.ResourcePool, err)
	} else {
		pool.Ref, pool.Path = p.Reference(), p.InventoryPath
	}
	if d, err := f.DatastoreOrDefault(ctx, r.opts.Datastore); err != nil {
		datastore.Err = explain(datastore.What, r.opts.Datastore, err)
	} else {
		datastore.Ref, datastore.Path = d.Reference(), d.InventoryPath
	}
	all = append(all, surveyNetwork(ctx, f, r.opts.Network))
	for _, name := range r.opts.Networks {
		if name != driver.Any {
			all = append(all, surveyNetwork(ctx, f, name))
		}
	}
	return all
}

func surveyNetwork(ctx context.Context, f *find.Finder, name string) Surveyed {
	n, err := f.NetworkOrDefault(ctx, exact(name))
	if err != nil {
		return Surveyed{What: WhatNetwork, Err: explain(WhatNetwork, name, err)}
	}
	return Surveyed{What: WhatNetwork, Path: n.GetInventoryPath(), Ref: n.Reference()}
}

func (r *Resolver) surveyFolder(ctx context.Context, dc *object.Datacenter, index *object.SearchIndex, path string) (types.ManagedObjectReference, error) {
	ref, err := index.FindByInventoryPath(ctx, path)
	switch {
	case err != nil:
		return types.ManagedObjectReference{}, explain(WhatFolder, path, err)
	case ref != nil && ref.Reference().Type == "Folder":
		return ref.Reference(), nil
	case ref != nil || !r.site.makeFolder:
		return types.ManagedObjectReference{}, &NotUsableError{Message: fmt.Sprintf("vSphere has no folder %q", path), Missing: true}
	}
	folders, err := dc.Folders(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("finding the VM folder of datacenter %s: %w", dc.InventoryPath, err)
	}
	return folders.VmFolder.Reference(), nil
}

// Missing is what of the configured places is not there, or cannot be used; nil for nothing.
// An error that is no NotUsableError means that it could not be asked for.
func (r *Resolver) Missing(ctx context.Context) error {
	if _, _, _, err := r.finder(ctx); err != nil {
		return err
	}
	var folder, pools, datastores error
	networks := make([]error, len(r.site.networks))
	together(
		func() { _, _, folder = r.folder(ctx) },
		func() { _, pools = r.allPools(ctx) },
		func() { _, datastores = r.allDatastores(ctx) },
		func() {
			for i, n := range r.site.networks {
				if !n.any() {
					_, networks[i] = r.backingAt(ctx, n.is)
				}
			}
		},
	)
	return errors.Join(append([]error{folder, pools, datastores}, networks...)...)
}
