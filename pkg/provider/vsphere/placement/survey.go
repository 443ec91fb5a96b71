// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// Values of SurveyResult.What.
const (
	WhatFolder    = "folder"
	WhatPool      = "resource pool"
	WhatDatastore = "datastore"
	WhatNetwork   = "network"
	WhatPolicy    = "storage policy"
)

// SurveyResult is a configured object, or the reason why it cannot be used.
type SurveyResult struct {
	// Zone is the zone that names the object. It is empty for an object from the flags.
	Zone string
	// What names the kind of object, for example WhatNetwork.
	What string
	// Path is the object's inventory path or its name in the zone.
	Path string
	// Ref is the object.
	Ref types.ManagedObjectReference
	// Err is the reason why the object cannot be used.
	Err error
}

// Survey finds all configured objects. It does not create anything: for a managed folder that does not exist yet,
// it returns the parent folder.
func (r *Resolver) Survey(ctx context.Context) []SurveyResult {
	f, dc, c, err := r.finder(ctx)
	if err != nil {
		return []SurveyResult{{What: WhatFolder, Err: err}}
	}
	all := []SurveyResult{{What: WhatFolder}, {What: WhatPool}, {What: WhatDatastore}}
	folder, pool, datastore := &all[0], &all[1], &all[2]
	folder.Ref, folder.Path, folder.Err = r.surveyFolder(ctx, dc, c)
	if p, err := findOne(ctx, c, pool.What, r.opts.ResourcePool, rootPools, f.ResourcePoolList); err != nil {
		pool.Err = err
	} else {
		pool.Ref, pool.Path = p.Reference(), p.InventoryPath
	}
	if d, err := findOne(ctx, c, datastore.What, r.opts.Datastore, "*", f.DatastoreList); err != nil {
		datastore.Err = err
	} else {
		datastore.Ref, datastore.Path = d.Reference(), d.InventoryPath
	}
	network := surveyNetwork(ctx, c, f, r.opts.Network)
	r.omitSwitches(ctx, network.Err)
	all = append(all, network)
	for _, name := range r.opts.Networks {
		if name != driver.Any {
			all = append(all, surveyNetwork(ctx, c, f, name))
		}
	}
	return all
}

func surveyNetwork(ctx context.Context, c *vim25.Client, f *find.Finder, name string) SurveyResult {
	n, err := findOne(ctx, c, WhatNetwork, name, "*", f.NetworkList)
	if err != nil {
		return SurveyResult{What: WhatNetwork, Err: err}
	}
	return SurveyResult{What: WhatNetwork, Path: n.GetInventoryPath(), Ref: n.Reference()}
}

// omitSwitches removes distributed switches and uplink port groups from the candidates of an UnspecifiedError.
func (r *Resolver) omitSwitches(ctx context.Context, err error) {
	var unspecified *UnspecifiedError
	if !errors.As(err, &unspecified) {
		return
	}
	unspecified.Candidates = slices.DeleteFunc(unspecified.Candidates, func(s SurveyResult) bool {
		var unusable *NotUsableError
		_, err := r.backingAt(ctx, s.Path)
		return errors.As(err, &unusable)
	})
}

func (r *Resolver) surveyFolder(ctx context.Context, dc *object.Datacenter, c *vim25.Client) (types.ManagedObjectReference, string, error) {
	paths := r.folderPaths(dc)
	ref, path, err := FindAtPath(ctx, c, WhatFolder, paths)
	switch {
	case err != nil:
		return types.ManagedObjectReference{}, paths[0], err
	case ref != nil && ref.Reference().Type == "Folder":
		return ref.Reference(), path, nil
	case ref != nil || !r.site.createFolder:
		return types.ManagedObjectReference{}, paths[0], &NotUsableError{Message: fmt.Sprintf("vSphere has no folder %q", paths[0]), Missing: true}
	}
	folders, err := dc.Folders(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, paths[0], fmt.Errorf("finding the VM folder of datacenter %s: %w", dc.InventoryPath, err)
	}
	return folders.VmFolder.Reference(), paths[0], nil
}

// Missing returns an error for configured objects that do not exist or cannot be used. An error that is not a
// NotUsableError means that the lookup failed.
func (r *Resolver) Missing(ctx context.Context) error {
	if _, _, _, err := r.finder(ctx); err != nil {
		return err
	}
	var folder, pools, datastores error
	networks := make([]error, len(r.site.networks))
	runParallel(
		func() { _, _, folder = r.folder(ctx) },
		func() { _, pools = r.allPools(ctx) },
		func() { _, datastores = r.allDatastores(ctx) },
		func() {
			for i, n := range r.site.networks {
				if !n.isAny() {
					_, networks[i] = r.backingAt(ctx, n.target)
				}
			}
		},
	)
	return errors.Join(append([]error{folder, pools, datastores}, networks...)...)
}

// SurveyZone finds all objects that the zone names: folder, resource pools, datastores, networks, and storage
// policies with their datastores. It does not create anything.
func (r *Resolver) SurveyZone(ctx context.Context) []SurveyResult {
	if _, _, _, err := r.finder(ctx); err != nil {
		return []SurveyResult{{Zone: r.opts.Name, What: WhatFolder, Path: r.site.folder, Err: err}}
	}
	folder := SurveyResult{What: WhatFolder, Path: r.site.folder}
	folder.Ref, _, folder.Err = r.folder(ctx)
	all := []SurveyResult{folder}
	pools, err := r.allPools(ctx)
	all = append(all, r.surveyObjects(ctx, WhatPool, r.site.by, pools, err)...)
	datastores, err := r.allDatastores(ctx)
	all = append(all, r.surveyObjects(ctx, WhatDatastore, r.site.by, datastores, err)...)
	for _, n := range r.site.networks {
		all = append(all, r.surveyNetworkOf(ctx, n))
	}
	all = append(all, r.surveyPolicies(ctx)...)
	for i := range all {
		all[i].Zone = r.opts.Name
	}
	return all
}

// surveyObjects returns the names of objects, or err.
func (r *Resolver) surveyObjects(ctx context.Context, what, whose string, refs []types.ManagedObjectReference, err error) []SurveyResult {
	var found []mo.ManagedEntity
	if err == nil {
		err = r.retrieve(ctx, "the names", refs, []string{"name"}, &found)
	}
	if err != nil {
		return []SurveyResult{{What: what, Path: whose, Err: err}}
	}
	out := make([]SurveyResult, 0, len(found))
	for i := range found {
		out = append(out, SurveyResult{What: what, Path: found[i].Name, Ref: found[i].Self})
	}
	return out
}

// surveyNetworkOf finds the port group of a network. A host of the zone must have it.
func (r *Resolver) surveyNetworkOf(ctx context.Context, n allowed) SurveyResult {
	s := SurveyResult{What: WhatNetwork, Path: n.target}
	f, _, c, err := r.finder(ctx)
	if err == nil {
		_, err = r.backingAt(ctx, n.target)
	}
	if err != nil {
		s.Err = fmt.Errorf("%s: %w", n.name, err)
		return s
	}
	found := surveyNetwork(ctx, c, f, n.target)
	s.Ref, s.Err = found.Ref, found.Err
	return s
}

// surveyPolicies finds the storage policies that the zone names. The policies of other StorageClasses are
// configured in the management cluster.
func (r *Resolver) surveyPolicies(ctx context.Context) (all []SurveyResult) {
	w := &driver.Desired{Desired: provider.Desired{StorageClasses: map[string]provider.StorageClass{}}}
	var classes []string
	if r.site.policy != "" {
		classes = append(classes, "")
	}
	for _, c := range r.site.classes {
		if c.Policy != "" {
			classes = append(classes, c.Name)
			w.StorageClasses[c.Name] = provider.StorageClass{}
		}
	}
	for _, class := range slices.Compact(classes) {
		here, err := r.class(class, w)
		s := SurveyResult{What: WhatPolicy, Path: here.policy, Err: err}
		if err == nil {
			s.Err = r.surveyPolicy(ctx, class, w)
		}
		all = append(all, s)
	}
	return all
}

func (r *Resolver) surveyPolicy(ctx context.Context, class string, w *driver.Desired) error {
	p, err := r.policy(ctx, class, w)
	if err != nil || len(p.Datastores) > 0 {
		return err
	}
	stores, err := r.allStores(ctx)
	if err != nil {
		return err
	}
	need := storage.Need{Path: "storage.policy", Class: class, Home: true}
	if class != "" {
		need.Path = "storage.classes"
	}
	_, problems := storage.Choose([]storage.Need{need}, map[string]storage.Policy{class: p}, stores)
	return &NotUsableError{Message: problems[0]}
}
