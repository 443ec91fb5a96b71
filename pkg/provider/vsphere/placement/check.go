// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// Report is the outcome of a check: what was found, and every failure under
// the condition that it belongs to.
type Report struct {
	// Folder is the managed folder.
	Folder types.ManagedObjectReference
	// Pool is the resource pool.
	Pool types.ManagedObjectReference
	// Host that the virtual machine is created on; nil if vCenter chooses it.
	Host *types.ManagedObjectReference
	// Datastore of the files and of the disks that the image has.
	Datastore types.ManagedObjectReference
	// Storage is how they are kept, and ISOs are the files for CD-ROM drives, by volume.
	Storage storage.Known
	ISOs    map[string]string
	// Backings are the networks by name.
	Backings map[string]types.BaseVirtualDeviceBackingInfo
	// Source is what the virtual machine is made from.
	Source Source
	// Failures by condition type; a checked condition without failure is nil.
	Failures driver.Report
}

// Err joins the failures.
func (r *Report) Err() error { return r.Failures.Err() }

// Check resolves everything that a create needs, at the same time, and all of it
// even if some fails; with kinds, only what belongs to these conditions.
func (r *Resolver) Check(ctx context.Context, w *driver.Want, kinds ...string) *Report {
	if len(kinds) > 0 {
		return r.checkOnly(ctx, w, kinds)
	}
	rep := &Report{}
	var folderErr, poolErr, datastoreErr, networkErr, imageErr error
	together(
		func() { rep.Folder, _, folderErr = r.folder(ctx) },
		func() { rep.Pool, poolErr = r.Pool(ctx) },
		func() { datastoreErr = r.store(ctx, w, rep) },
		func() { rep.Backings, networkErr = r.Backings(ctx, NetworkNames(w.Effective), w.NamespaceLabels) },
		func() { rep.Source, imageErr = r.SourceOf(ctx, w) },
	)
	var hostErr error
	if errors.Join(poolErr, datastoreErr, networkErr) == nil {
		rep.Host, hostErr = r.host(ctx, rep, r.datastores)
	}
	rep.Failures = driver.Report{
		vmv1alpha1.ConditionPlacementReady: errors.Join(folderErr, poolErr, hostErr),
		vmv1alpha1.ConditionStorageReady:   datastoreErr,
		vmv1alpha1.ConditionNetworkReady:   networkErr,
		vmv1alpha1.ConditionImageReady:     imageErr,
	}
	return rep
}

// store finds out where the files of a virtual machine go and how they are kept, and where
// the media for its drives are.
func (r *Resolver) store(ctx context.Context, w *driver.Want, rep *Report) error {
	var err error
	rep.Datastore, rep.Storage, err = r.keep(ctx, w)
	var discErr error
	rep.ISOs, discErr = r.discs(ctx, w)
	return errors.Join(err, discErr)
}

// checkOnly resolves what belongs to some conditions.
func (r *Resolver) checkOnly(ctx context.Context, w *driver.Want, kinds []string) *Report {
	rep := &Report{Failures: driver.Report{}}
	for _, kind := range kinds {
		var err error
		switch kind {
		case vmv1alpha1.ConditionPlacementReady:
			rep.Folder, _, err = r.Folder(ctx)
			var poolErr error
			rep.Pool, poolErr = r.Pool(ctx)
			err = errors.Join(err, poolErr)
		case vmv1alpha1.ConditionStorageReady:
			err = r.store(ctx, w, rep)
		case vmv1alpha1.ConditionNetworkReady:
			rep.Backings, err = r.Backings(ctx, NetworkNames(w.Effective), w.NamespaceLabels)
		case vmv1alpha1.ConditionImageReady:
			rep.Source, err = r.SourceOf(ctx, w)
		}
		rep.Failures[kind] = err
	}
	return rep
}

// Warm resolves what all virtual machines have in common, so that the first create
// does not wait for it. What fails is asked for again by who needs it, and reported
// there.
func (r *Resolver) Warm(ctx context.Context) {
	together(
		func() { _, _, _ = r.folder(ctx) },
		func() {
			if pool, err := r.Pool(ctx); err == nil {
				_, _ = r.clusterOf(ctx, pool)
			}
		},
		func() { _, _ = r.Datastore(ctx) },
		func() { _, _ = r.Backings(ctx, []string{""}, nil) },
		func() { _ = r.session.LoginREST(ctx) },
	)
}

// together runs all at the same time and waits for them.
func together(all ...func()) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
}
