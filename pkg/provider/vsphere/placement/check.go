// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"

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

// Check resolves everything that a create needs, all of it even if some fails.
func (r *Resolver) Check(ctx context.Context, e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) *Report {
	rep := &Report{Failures: map[string]error{}}
	var folderErr, poolErr error
	rep.Folder, _, folderErr = r.Folder(ctx)
	rep.Pool, poolErr = r.Pool(ctx)
	rep.Failures[vmv1alpha1.ConditionPlacementReady] = errors.Join(folderErr, poolErr)
	var err error
	rep.Datastore, err = r.Datastore(ctx)
	rep.Failures[vmv1alpha1.ConditionStorageReady] = err
	rep.Backings, err = r.Backings(ctx, NetworkNames(e))
	rep.Failures[vmv1alpha1.ConditionNetworkReady] = err
	rep.Source, err = r.Source(ctx, image)
	rep.Failures[vmv1alpha1.ConditionImageReady] = err
	return rep
}
