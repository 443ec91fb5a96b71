// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// Recommend asks DRS how well it can place a new virtual machine, from 1 to 5; 0 is no
// answer. The error is what DRS says if it finds no place for it; one of the call counts
// for no answer: nobody is kept from a cluster because its DRS cannot be asked.
func (r *Resolver) Recommend(ctx context.Context, clusters []types.ManagedObjectReference, config *types.VirtualMachineConfigSpec) (rating int32, err error) {
	datastores, err := r.allDatastores(ctx)
	if err != nil {
		return 0, err
	}
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return 0, err
	}
	pool, err := r.Pool(ctx)
	if err != nil {
		return 0, err
	}
	var faults []error
	answers := 0
	for _, cluster := range clusters {
		spec := types.PlacementSpec{
			PlacementType: string(types.PlacementSpecPlacementTypeCreate), ConfigSpec: config, Datastores: datastores,
		}
		if len(clusters) == 1 {
			spec.RelocateSpec = &types.VirtualMachineRelocateSpec{Pool: &pool}
		}
		res, err := object.NewClusterComputeResource(c, cluster).PlaceVm(ctx, spec)
		if err != nil {
			continue
		}
		answers++
		for _, one := range res.Recommendations {
			rating = max(rating, one.Rating, 1)
		}
		if len(res.Recommendations) == 0 {
			faults = append(faults, errors.New(drsFault(res.DrsFault)))
		}
	}
	if rating > 0 || answers < len(clusters) {
		return rating, nil
	}
	return 0, errors.Join(faults...)
}

// drsFault is what DRS says if it recommends nothing.
func drsFault(f *types.ClusterDrsFaults) string {
	if f == nil {
		return "DRS recommends no host"
	}
	for _, by := range f.FaultsByVm {
		faults := by.GetClusterDrsFaultsFaultsByVm().Fault
		switch {
		case len(faults) == 0:
		case faults[0].LocalizedMessage != "":
			return "DRS recommends no host: " + faults[0].LocalizedMessage
		default:
			return fmt.Sprintf("DRS recommends no host: %T", faults[0].Fault)
		}
	}
	return "DRS recommends no host: " + f.Reason
}
