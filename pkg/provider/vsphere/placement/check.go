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

// Report is the result of a check: the resolved objects, and all failures by condition.
type Report struct {
	// Folder is the managed folder.
	Folder types.ManagedObjectReference
	// Pool is the resource pool.
	Pool types.ManagedObjectReference
	// Host is the host on which the virtual machine is created. It is nil if vCenter chooses the host.
	Host *types.ManagedObjectReference
	// Datastore is the datastore of the virtual machine's files and of the image's disks.
	Datastore types.ManagedObjectReference
	// Storage contains the storage policies. ISOs are the files for CD-ROM drives, by volume.
	Storage storage.Resolved
	ISOs    map[string]string
	// Backings are the networks by name.
	Backings map[string]types.BaseVirtualDeviceBackingInfo
	// Source is the source of the virtual machine.
	Source Source
	// Failures are the errors by condition type. The error of a checked condition without failure is nil.
	Failures driver.Report
}

// Err joins the failures.
func (r *Report) Err() error { return r.Failures.Err() }

// Check resolves all objects that a create needs, in parallel, and does not stop at an error. If kinds is not
// empty, it resolves only the objects of these conditions.
func (r *Resolver) Check(ctx context.Context, w *driver.Desired, kinds ...string) *Report {
	if len(kinds) > 0 {
		return r.checkOnly(ctx, w, kinds)
	}
	rep := &Report{}
	var folderErr, poolErr, datastoreErr, networkErr, imageErr error
	runParallel(
		func() { rep.Folder, _, folderErr = r.folder(ctx) },
		func() { rep.Pool, poolErr = r.Pool(ctx) },
		func() { datastoreErr = r.resolveStorage(ctx, w, rep) },
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

// resolveStorage resolves the datastore, the storage policies and the media of a virtual machine.
func (r *Resolver) resolveStorage(ctx context.Context, w *driver.Desired, rep *Report) error {
	var err error
	rep.Datastore, rep.Storage, err = r.resolveClasses(ctx, w)
	var discErr error
	rep.ISOs, discErr = r.resolveISOs(ctx, w)
	return errors.Join(err, discErr)
}

// checkOnly resolves the objects of some conditions.
func (r *Resolver) checkOnly(ctx context.Context, w *driver.Desired, kinds []string) *Report {
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
			err = r.resolveStorage(ctx, w, rep)
		case vmv1alpha1.ConditionNetworkReady:
			rep.Backings, err = r.Backings(ctx, NetworkNames(w.Effective), w.NamespaceLabels)
		case vmv1alpha1.ConditionImageReady:
			rep.Source, err = r.SourceOf(ctx, w)
		}
		rep.Failures[kind] = err
	}
	return rep
}

// Warm resolves the objects that all virtual machines share, so that the first create does not wait for them. It
// ignores errors, because the next use of the object repeats the lookup and reports them.
func (r *Resolver) Warm(ctx context.Context) {
	runParallel(
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

// runParallel runs functions in parallel and waits for all of them.
func runParallel(all ...func()) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
}
