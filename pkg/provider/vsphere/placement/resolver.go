// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// defaultFolder is made below the datacenter's VM folder when none is named.
const defaultFolder = "slipway"

// Options name the places by inventory path or name. An empty one means the
// only one, and of the folder, one named slipway that is made if missing.
type Options struct {
	// Session to vCenter.
	Session *session.Session
	// Datacenter that everything is in.
	Datacenter string
	// ResourcePool of the virtual machines; a cluster's root pool works too.
	ResourcePool string
	// Folder that holds one folder for each namespace.
	Folder string
	// Datastore of the disks.
	Datastore string
	// Network of interfaces that name none.
	Network string
	// Networks are those that interfaces may name besides Network; driver.Any stands for
	// all.
	Networks []string
}

// Resolver resolves names.
type Resolver struct {
	opts Options

	datacenters cache[*object.Datacenter]
	// folders hold the managed folder, pools and datastores the configured one.
	folders           cache[folderAt]
	pools, datastores cache[types.ManagedObjectReference]
	// namespaces are their folders, backings the networks by name, images by source.
	namespaces cache[types.ManagedObjectReference]
	backings   cache[types.BaseVirtualDeviceBackingInfo]
	images     cache[Source]
}

// New returns a Resolver; it asks nothing yet.
func New(o Options) *Resolver { return &Resolver{opts: o} }

// Invalidate forgets everything, after something turned out to be Stale.
func (r *Resolver) Invalidate() {
	r.datacenters.clear()
	r.folders.clear()
	r.pools.clear()
	r.datastores.clear()
	r.namespaces.clear()
	r.backings.clear()
	r.images.clear()
}

// Stale reports whether err, of an operation, means that an object which was found
// before is gone, such as a template or a network that was made again.
func Stale(err error) bool {
	return vimfault.KindOf(err) == vimfault.NotFound || vimfault.InvalidBacking(err)
}

func (r *Resolver) finder(ctx context.Context) (*find.Finder, *object.Datacenter, *vim25.Client, error) {
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	dc, err := r.datacenters.get(ctx, r.opts.Datacenter, func(ctx context.Context) (*object.Datacenter, error) {
		dc, err := find.NewFinder(c, false).DatacenterOrDefault(ctx, exact(r.opts.Datacenter))
		if err != nil {
			return nil, explain("datacenter", r.opts.Datacenter, err)
		}
		return dc, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return find.NewFinder(c, false).SetDatacenter(dc), dc, c, nil
}

// explain words the finder's errors in terms of the option.
func explain(what, name string, err error) error {
	var missing *find.NotFoundError
	var many *find.DefaultMultipleFoundError
	var none *find.DefaultNotFoundError
	switch {
	case errors.As(err, &many):
		return &NotUsableError{Message: fmt.Sprintf("vSphere has more than one %s: name one", what)}
	case errors.As(err, &missing), errors.As(err, &none), vimfault.KindOf(err) == vimfault.NotFound:
		if name == "" {
			return &NotUsableError{Message: "vSphere has no " + what, Missing: true}
		}
		return &NotUsableError{Message: fmt.Sprintf("vSphere has no %s %q", what, name), Missing: true}
	}
	return fmt.Errorf("finding %s %q: %w", what, name, err)
}

// NotUsableError means that a name does not lead to exactly one usable object.
type NotUsableError = driver.NotUsableError

// Pool returns the resource pool.
func (r *Resolver) Pool(ctx context.Context) (types.ManagedObjectReference, error) {
	return r.pools.get(ctx, "", func(ctx context.Context) (types.ManagedObjectReference, error) {
		f, _, _, err := r.finder(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		pool, err := f.ResourcePoolOrDefault(ctx, exact(r.opts.ResourcePool))
		if err != nil {
			return types.ManagedObjectReference{}, explain("resource pool", r.opts.ResourcePool, err)
		}
		return pool.Reference(), nil
	})
}

// Datastore returns the datastore.
func (r *Resolver) Datastore(ctx context.Context) (types.ManagedObjectReference, error) {
	return r.datastores.get(ctx, "", func(ctx context.Context) (types.ManagedObjectReference, error) {
		f, _, _, err := r.finder(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		ds, err := f.DatastoreOrDefault(ctx, exact(r.opts.Datastore))
		if err != nil {
			return types.ManagedObjectReference{}, explain("datastore", r.opts.Datastore, err)
		}
		return ds.Reference(), nil
	})
}
