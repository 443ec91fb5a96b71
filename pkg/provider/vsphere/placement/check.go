// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Report is the outcome of a check: what was found, and every failure under
// the condition that it belongs to.
type Report struct {
	// Folder is the managed folder.
	Folder types.ManagedObjectReference
	// Pool is the resource pool.
	Pool types.ManagedObjectReference
	// Datastore of the disks.
	Datastore types.ManagedObjectReference
	// Backings are the networks by name.
	Backings map[string]types.BaseVirtualDeviceBackingInfo
	// Source is what the virtual machine is made from.
	Source Source
	// Failures by condition type; a checked condition without failure is nil.
	Failures map[string]error
}

// Err joins the failures.
func (r *Report) Err() error {
	var all []error
	for _, kind := range []string{
		vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionStorageReady,
		vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionImageReady,
	} {
		if err := r.Failures[kind]; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// Check resolves everything that a create needs, at the same time, and all of it
// even if some fails.
func (r *Resolver) Check(ctx context.Context, e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) *Report {
	rep := &Report{}
	var folderErr, poolErr, datastoreErr, networkErr, imageErr error
	together(
		func() { rep.Folder, _, folderErr = r.Folder(ctx) },
		func() { rep.Pool, poolErr = r.Pool(ctx) },
		func() { rep.Datastore, datastoreErr = r.Datastore(ctx) },
		func() { rep.Backings, networkErr = r.Backings(ctx, NetworkNames(e)) },
		func() { rep.Source, imageErr = r.Source(ctx, image) },
	)
	rep.Failures = map[string]error{
		vmv1alpha1.ConditionPlacementReady: errors.Join(folderErr, poolErr),
		vmv1alpha1.ConditionStorageReady:   datastoreErr,
		vmv1alpha1.ConditionNetworkReady:   networkErr,
		vmv1alpha1.ConditionImageReady:     imageErr,
	}
	return rep
}

// Warm resolves what all virtual machines have in common, so that the first create
// does not wait for it. What fails is asked for again by who needs it, and reported
// there.
func (r *Resolver) Warm(ctx context.Context) {
	together(
		func() { _, _, _ = r.Folder(ctx) },
		func() { _, _ = r.Pool(ctx) },
		func() { _, _ = r.Datastore(ctx) },
		func() { _, _ = r.Backings(ctx, []string{""}) },
		func() { _ = r.opts.Session.LoginREST(ctx) },
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
