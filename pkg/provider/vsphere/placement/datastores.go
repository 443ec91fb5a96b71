// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// datastores resolves the datastores of a zone.
type datastores struct {
	*lookup
	compute *compute
	// configured are the zone's datastores. stores are all usable datastores with their space.
	configured cache[[]types.ManagedObjectReference]
	stores     cache[[]storage.Datastore]
	// homes are keyed by managed object ID.
	homes cache[datastore.Location]
}

// allDatastores returns the zone's datastores, at least one: the configured ones, or those that its hosts access. A
// datastore cluster in the configuration means its members.
func (st *datastores) allDatastores(ctx context.Context) ([]types.ManagedObjectReference, error) {
	return st.configured.get(ctx, "", func(ctx context.Context) ([]types.ManagedObjectReference, error) {
		f, _, c, err := st.finder(ctx)
		switch {
		case err != nil:
			return nil, err
		case len(st.site.datastores) > 0:
			return st.namedDatastores(ctx, f, c)
		case st.site.policy != "":
			return st.seenDatastores(ctx)
		}
		ds, err := findOne(ctx, c, WhatDatastore, "", "*", f.DatastoreList)
		if err != nil {
			return nil, err
		}
		return []types.ManagedObjectReference{ds.Reference()}, nil
	})
}

func (st *datastores) namedDatastores(ctx context.Context, f *find.Finder, c *vim25.Client) ([]types.ManagedObjectReference, error) {
	var out []types.ManagedObjectReference
	var errs []error
	for _, name := range st.site.datastores {
		ds, err := findOne(ctx, c, WhatDatastore, name, "", f.DatastoreList)
		if err == nil {
			out = append(out, ds.Reference())
			continue
		}
		if isMissing(err) {
			members, perr := st.members(ctx, f, c, name)
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
		errs = append(errs, &NotUsableError{Message: "the datastore clusters of " + st.site.by + " contain no datastores"})
	}
	return out, errors.Join(errs...)
}

func isMissing(err error) bool {
	var missing *NotUsableError
	return errors.As(err, &missing) && missing.Missing
}

// members returns the datastores of a datastore cluster.
func (st *datastores) members(ctx context.Context, f *find.Finder, c *vim25.Client, name string) ([]types.ManagedObjectReference, error) {
	pod, err := findOne(ctx, c, "datastore cluster", name, "", f.DatastoreClusterList)
	if err != nil {
		return nil, err
	}
	var of mo.StoragePod
	if err := property.DefaultCollector(c).RetrieveOne(ctx, pod.Reference(), []string{"childEntity"}, &of); err != nil {
		return nil, fmt.Errorf("reading datastore cluster %q: %w", name, err)
	}
	return of.ChildEntity, nil
}

// seenDatastores returns the datastores that the zone's hosts access.
func (st *datastores) seenDatastores(ctx context.Context) ([]types.ManagedObjectReference, error) {
	owners, err := st.compute.owners(ctx)
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
		return nil, &NotUsableError{Message: "the hosts of " + st.site.by + " have no datastores"}
	}
	return out, nil
}

// allStores returns the datastores of storeRefs with their space.
func (st *datastores) allStores(ctx context.Context) ([]storage.Datastore, error) {
	return st.stores.get(ctx, "", func(ctx context.Context) ([]storage.Datastore, error) {
		refs, err := st.storeRefs(ctx)
		if err != nil {
			return nil, err
		}
		var all []mo.Datastore
		if err := st.retrieve(ctx, "the datastores", refs, []string{"summary"}, &all); err != nil {
			return nil, err
		}
		out := make([]storage.Datastore, 0, len(all))
		for i := range all {
			s := &all[i].Summary
			d := storage.Datastore{Name: s.Name, ID: all[i].Self.Value, URL: s.Url, Free: s.FreeSpace}
			switch {
			case !s.Accessible:
				d.Unusable = "it is not accessible"
			case s.MaintenanceMode != "" && s.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal):
				d.Unusable = "it is in maintenance mode"
			}
			out = append(out, d)
		}
		return out, nil
	})
}

// storeRefs returns all datastores that the zone may use: the configured ones of the zone and its classes, or those
// that its hosts access.
func (st *datastores) storeRefs(ctx context.Context) ([]types.ManagedObjectReference, error) {
	seen, err := st.seenDatastores(ctx)
	if err != nil || len(st.site.datastores) == 0 {
		return seen, err
	}
	own, err := st.allDatastores(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range seen {
		if !slices.Contains(own, ref) && slices.ContainsFunc(st.site.classes, func(c vmv1alpha1.ZoneStorageClass) bool { return len(c.Datastores) > 0 }) {
			own = append(own, ref)
		}
	}
	return own, nil
}

// seenURLs returns the URLs of the datastores that the zone's hosts access.
func (st *datastores) seenURLs(ctx context.Context) ([]string, error) {
	refs, err := st.seenDatastores(ctx)
	if err != nil {
		return nil, err
	}
	var all []mo.Datastore
	if err := st.retrieve(ctx, "the datastores", refs, []string{"summary.url"}, &all); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(all))
	for i := range all {
		out = append(out, all[i].Summary.Url)
	}
	return out, nil
}

// datastoresOf returns the datastores that the VM's host must access: the datastore of the VM's files, and those of
// volumes whose policies do not allow it.
func (st *datastores) datastoresOf(ctx context.Context, rep *Report) ([]types.ManagedObjectReference, error) {
	out := []types.ManagedObjectReference{rep.Datastore}
	if len(rep.Storage.Policies) == 0 {
		return out, nil
	}
	all, err := st.allStores(ctx)
	if err != nil {
		return nil, err
	}
	home, ids := "", map[string]string{}
	for _, ds := range all {
		ids[ds.Name] = ds.ID
		if ds.ID == rep.Datastore.Value {
			home = ds.Name
		}
	}
	for _, p := range rep.Storage.Policies {
		if len(p.Datastores) > 0 && !p.Holds(home) {
			out = append(out, types.ManagedObjectReference{Type: "Datastore", Value: ids[p.Datastores[0]]})
		}
	}
	return out, nil
}

// Home returns the location of a datastore of the zone.
func (st *datastores) Home(ctx context.Context, ref types.ManagedObjectReference) (datastore.Location, error) {
	_, dc, _, err := st.finder(ctx)
	if err != nil {
		return datastore.Location{}, err
	}
	return st.homes.get(ctx, ref.Value, func(ctx context.Context) (datastore.Location, error) {
		return datastore.Locate(ctx, st.session, dc.Reference(), ref)
	})
}

// Homes returns all datastores on which the zone's virtual machines may be created. If a configured name is not
// found, it returns all datastores that the zone's hosts access, because the named one may be among them.
func (st *datastores) Homes(ctx context.Context) ([]datastore.Location, error) {
	refs, err := st.storeRefs(ctx)
	if isMissing(err) {
		refs, err = st.seenDatastores(ctx)
	}
	if err != nil {
		return nil, err
	}
	return st.homesAt(ctx, refs)
}

// HomesNamed returns the datastores with a name on which the zone's virtual machines may be created. If there is
// none, it searches the datastores that the account and the zone's hosts access, because the zone may have had
// another configuration before.
func (st *datastores) HomesNamed(ctx context.Context, name string) ([]datastore.Location, error) {
	homes, err := st.Homes(ctx)
	homes = slices.DeleteFunc(homes, func(p datastore.Location) bool { return p.Name != name })
	if err != nil || len(homes) > 0 {
		return homes, err
	}
	c, err := st.session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := st.seenDatastores(ctx)
	if err != nil {
		return nil, err
	}
	all, err := datastore.All(ctx, c)
	if err != nil {
		return nil, err
	}
	var named []types.ManagedObjectReference
	for i := range all {
		// Another datacenter may have a datastore with the same name.
		if all[i].Name == name && slices.Contains(seen, all[i].Self) {
			named = append(named, all[i].Self)
		}
	}
	return st.homesAt(ctx, named)
}

func (st *datastores) homesAt(ctx context.Context, refs []types.ManagedObjectReference) ([]datastore.Location, error) {
	out := make([]datastore.Location, 0, len(refs))
	for _, ref := range refs {
		home, err := st.Home(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, home)
	}
	return out, nil
}
