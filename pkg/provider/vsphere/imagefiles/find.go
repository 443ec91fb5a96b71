// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// datastore finds the datastore of a location. If no datastore has the name, it finds the one with the managed
// object ID in before, which may be empty.
func (f *Files) datastore(ctx context.Context, name, before string) (datastore.Location, error) {
	at, err := f.datastoreNamed(ctx, name)
	var unusable *provider.NotUsableError
	if before == "" || !errors.As(err, &unusable) || !unusable.Missing {
		return at, err
	}
	ref := types.ManagedObjectReference{Type: "Datastore", Value: before}
	at, lookErr := f.lookUp(ctx, ref)
	if vimfault.IsNotFound(lookErr, ref) {
		return at, err
	}
	return at, lookErr
}

// datastoreNamed finds a datastore by inventory path or by unique name.
func (f *Files) datastoreNamed(ctx context.Context, name string) (datastore.Location, error) {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return datastore.Location{}, err
	}
	if strings.HasPrefix(name, "/") {
		found, _, err := placement.FindAtPath(ctx, c, placement.WhatDatastore, placement.Spellings(name))
		if err != nil {
			return datastore.Location{}, err
		}
		if found == nil || found.Reference().Type != "Datastore" {
			return datastore.Location{}, noDatastore(name)
		}
		return f.lookUp(ctx, found.Reference())
	}
	all, err := f.allDatastores(ctx)
	if err != nil {
		return datastore.Location{}, err
	}
	for _, spelling := range placement.Spellings(name) {
		var refs []types.ManagedObjectReference
		for i := range all {
			if all[i].Name == spelling {
				refs = append(refs, all[i].Self)
			}
		}
		switch len(refs) {
		case 0:
		case 1:
			return f.lookUp(ctx, refs[0])
		default:
			return datastore.Location{}, placement.AmbiguousError(ctx, c, placement.WhatDatastore, name, refs)
		}
	}
	return datastore.Location{}, noDatastore(name)
}

func noDatastore(name string) error {
	return &provider.NotUsableError{Message: fmt.Sprintf("vSphere has no datastore %q", name), Missing: true}
}

// allDatastores returns all datastores that the account can read.
func (f *Files) allDatastores(ctx context.Context) ([]mo.Datastore, error) {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	return datastore.All(ctx, c)
}

// datacenterOf returns the datacenter of an object.
func (f *Files) datacenterOf(ctx context.Context, ref types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	above, err := mo.Ancestors(ctx, c, property.DefaultCollector(c).Reference(), ref)
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("finding the datacenter of %s: %w", ref.Value, err)
	}
	for i := range above {
		if above[i].Self.Type == "Datacenter" {
			return above[i].Self, nil
		}
	}
	return types.ManagedObjectReference{}, fmt.Errorf("finding the datacenter of %s: the object is not in a datacenter", ref.Value)
}

// profile returns the ID of a storage policy that is specified by name or ID. If there is none, it returns before,
// which may be empty, if that policy still exists.
func (f *Files) profile(ctx context.Context, policy, before string) (string, error) {
	if policy == "" {
		return "", nil
	}
	service, err := f.opts.Session.PolicyClient(ctx)
	if err != nil {
		return "", err
	}
	profiles, err := placement.ReadProfiles(ctx, service)
	if err != nil {
		return "", err
	}
	renamed := false
	for name, id := range profiles {
		if name == policy || id == policy {
			return id, nil
		}
		renamed = renamed || id == before
	}
	if renamed {
		return before, nil
	}
	return "", &provider.NotUsableError{Message: fmt.Sprintf("vCenter has no storage policy %q", policy), Missing: true}
}
