// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// CnsQueryVolume lists the volumes of a filter, by their IDs: the first class disks that
// are on the books of the service. What the filter does not name is not in the answer.
func (s *Service) CnsQueryVolume(ctx *simulator.Context, req *cnstypes.CnsQueryVolume) soap.HasFault {
	vctx := ctx.For(vim25.Path)
	asked := req.Filter.GetCnsQueryFilter().VolumeIds
	result := cnstypes.CnsQueryResult{}
	for ref, disks := range vctx.Map.VStorageObjectManager().Catalog() {
		ds, ok := vctx.Map.Get(ref).(*simulator.Datastore)
		if !ok {
			continue
		}
		for id, disk := range disks {
			volume := cnstypes.CnsVolumeId{Id: id.Id}
			if len(asked) > 0 && !slices.Contains(asked, volume) || !s.registered(vctx, volume) {
				continue
			}
			result.Volumes = append(result.Volumes, cnstypes.CnsVolume{
				VolumeId: volume, Name: disk.Config.Name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), DatastoreUrl: ds.Summary.Url,
			})
		}
	}
	return &methods.CnsQueryVolumeBody{Res: &cnstypes.CnsQueryVolumeResponse{Returnval: result}}
}
