// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Pool returns the resource pool that a new virtual machine goes to: of several the one
// with the most free memory.
func (r *Resolver) Pool(ctx context.Context) (types.ManagedObjectReference, error) {
	pools, err := r.allPools(ctx)
	if err != nil || len(pools) == 1 {
		return first(pools), err
	}
	has, err := r.Amounts(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return most(pools, func(ref types.ManagedObjectReference) int64 { return has.pools[ref].Memory }), nil
}

// Datastore returns the datastore that a new virtual machine goes to: of several the one
// with the most free space.
func (r *Resolver) Datastore(ctx context.Context) (types.ManagedObjectReference, error) {
	all, err := r.allDatastores(ctx)
	if err != nil || len(all) == 1 {
		return first(all), err
	}
	has, err := r.Amounts(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return most(all, func(ref types.ManagedObjectReference) int64 { return has.datastores[ref] }), nil
}

func first(all []types.ManagedObjectReference) (ref types.ManagedObjectReference) {
	if len(all) > 0 {
		ref = all[0]
	}
	return ref
}

// most is the one that has the most.
func most(all []types.ManagedObjectReference, has func(types.ManagedObjectReference) int64) types.ManagedObjectReference {
	best := all[0]
	for _, ref := range all[1:] {
		if has(ref) > has(best) {
			best = ref
		}
	}
	return best
}

// allPools are the resource pools of the zone, at least one.
func (r *Resolver) allPools(ctx context.Context) ([]types.ManagedObjectReference, error) {
	return r.pools.get(ctx, "", func(ctx context.Context) ([]types.ManagedObjectReference, error) {
		f, _, c, err := r.finder(ctx)
		if err != nil {
			return nil, err
		}
		if r.site.cluster != "" {
			cluster, err := f.ComputeResource(ctx, exact(r.site.cluster))
			if err != nil {
				return nil, explain("cluster", r.site.cluster, err)
			}
			var of mo.ComputeResource
			if err := property.DefaultCollector(c).RetrieveOne(ctx, cluster.Reference(), []string{"resourcePool"}, &of); err != nil {
				return nil, fmt.Errorf("reading the resource pool of cluster %q: %w", r.site.cluster, err)
			}
			if of.ResourcePool == nil {
				return nil, &NotUsableError{Message: fmt.Sprintf("cluster %q has no resource pool", r.site.cluster)}
			}
			return []types.ManagedObjectReference{*of.ResourcePool}, nil
		}
		names := r.site.pools
		if len(names) == 0 {
			names = []string{""}
		}
		var out []types.ManagedObjectReference
		var errs []error
		for _, name := range names {
			pool, err := f.ResourcePoolOrDefault(ctx, exact(name))
			if err != nil {
				errs = append(errs, explain(WhatPool, name, err))
				continue
			}
			out = append(out, pool.Reference())
		}
		return out, errors.Join(errs...)
	})
}

// allDatastores are those of the zone, at least one: those that are named, in which a
// datastore cluster stands for its members, or those that its hosts see.
func (r *Resolver) allDatastores(ctx context.Context) ([]types.ManagedObjectReference, error) {
	return r.datastores.get(ctx, "", func(ctx context.Context) ([]types.ManagedObjectReference, error) {
		f, _, _, err := r.finder(ctx)
		switch {
		case err != nil:
			return nil, err
		case len(r.site.datastores) > 0:
			return r.namedDatastores(ctx, f)
		case r.site.policy != "":
			return r.seenDatastores(ctx)
		}
		ds, err := f.DatastoreOrDefault(ctx, "")
		if err != nil {
			return nil, explain(WhatDatastore, "", err)
		}
		return []types.ManagedObjectReference{ds.Reference()}, nil
	})
}

func (r *Resolver) namedDatastores(ctx context.Context, f *find.Finder) ([]types.ManagedObjectReference, error) {
	var out []types.ManagedObjectReference
	var errs []error
	for _, name := range r.site.datastores {
		ds, err := f.Datastore(ctx, exact(name))
		if err == nil {
			out = append(out, ds.Reference())
			continue
		}
		err = explain(WhatDatastore, name, err)
		var missing *NotUsableError
		if errors.As(err, &missing) && missing.Missing {
			members, perr := r.members(ctx, f, name)
			if perr == nil {
				out = append(out, members...)
				continue
			}
			if vimfault.KindOf(perr) != vimfault.NotFound && !isMissing(perr) {
				err = perr
			}
		}
		errs = append(errs, err)
	}
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, &NotUsableError{Message: "the datastore clusters of " + r.site.by + " are empty"})
	}
	return out, errors.Join(errs...)
}

func isMissing(err error) bool {
	var missing *NotUsableError
	return errors.As(err, &missing) && missing.Missing
}

// members are the datastores of a datastore cluster.
func (r *Resolver) members(ctx context.Context, f *find.Finder, name string) ([]types.ManagedObjectReference, error) {
	pod, err := f.DatastoreCluster(ctx, exact(name))
	if err != nil {
		return nil, explain("datastore cluster", name, err)
	}
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var of mo.StoragePod
	if err := property.DefaultCollector(c).RetrieveOne(ctx, pod.Reference(), []string{"childEntity"}, &of); err != nil {
		return nil, fmt.Errorf("reading datastore cluster %q: %w", name, err)
	}
	return of.ChildEntity, nil
}

// seenDatastores are those that the hosts of the zone see.
func (r *Resolver) seenDatastores(ctx context.Context) ([]types.ManagedObjectReference, error) {
	owners, err := r.owners(ctx)
	if err != nil {
		return nil, err
	}
	var out []types.ManagedObjectReference
	seen := map[types.ManagedObjectReference]bool{}
	for _, o := range owners {
		for _, ds := range o.Datastore {
			if !seen[ds] {
				seen[ds] = true
				out = append(out, ds)
			}
		}
	}
	if len(out) == 0 {
		return nil, &NotUsableError{Message: "the hosts of " + r.site.by + " see no datastore"}
	}
	return out, nil
}
