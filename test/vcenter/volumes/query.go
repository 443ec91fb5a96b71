// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Disk is a first class disk.
type Disk struct {
	*simulator.VStorageObject
	// Datastore that it is on.
	Datastore types.ManagedObjectReference
}

// FirstClass are the first class disks that there are, by their IDs. The simulator's own
// catalogue is written by tasks, and must not be read without its lock. ctx is one of the
// inventory.
func FirstClass(ctx *simulator.Context) map[types.ID]Disk {
	out := map[types.ID]Disk{}
	manager := ctx.Map.VStorageObjectManager()
	ctx.WithLock(manager, func() {
		for ref, disks := range manager.Catalog() {
			for id, disk := range disks {
				out[id] = Disk{disk, ref}
			}
		}
	})
	return out
}

// Drop takes first class disks out of the catalogue.
func Drop(ctx *simulator.Context, ids ...types.ID) {
	manager := ctx.Map.VStorageObjectManager()
	ctx.WithLock(manager, func() {
		for _, disks := range manager.Catalog() {
			maps.DeleteFunc(disks, func(id types.ID, _ *simulator.VStorageObject) bool { return slices.Contains(ids, id) })
		}
	})
}

// CnsQueryVolume lists the volumes of a filter, by their IDs: the first class disks that the service has registered.
// Other volumes are omitted.
func (s *Service) CnsQueryVolume(ctx *simulator.Context, req *cnstypes.CnsQueryVolume) soap.HasFault {
	vctx := ctx.For(vim25.Path)
	asked := req.Filter.GetCnsQueryFilter().VolumeIds
	result := cnstypes.CnsQueryResult{}
	for id, disk := range FirstClass(vctx) {
		volume := cnstypes.CnsVolumeId{Id: id.Id}
		ds, ok := vctx.Map.Get(disk.Datastore).(*simulator.Datastore)
		if !ok || len(asked) > 0 && !slices.Contains(asked, volume) || !s.registered(vctx, volume) {
			continue
		}
		result.Volumes = append(result.Volumes, cnstypes.CnsVolume{
			VolumeId: volume, Name: disk.Config.Name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), DatastoreUrl: ds.Summary.Url,
		})
	}
	return &methods.CnsQueryVolumeBody{Res: &cnstypes.CnsQueryVolumeResponse{Returnval: result}}
}

// CnsQueryVolumeInfo returns the first class disks of volumes, in a task.
func (s *Service) CnsQueryVolumeInfo(ctx *simulator.Context, req *cnstypes.CnsQueryVolumeInfo) soap.HasFault {
	vctx := ctx.For(vim25.Path)
	task := simulator.CreateTask(s, "CnsQueryVolumeInfo", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		batch := &cnstypes.CnsVolumeOperationBatchResult{}
		disks := FirstClass(&simulator.Context{Context: vctx.Context, Map: vctx.Map, Session: vctx.Session})
		for _, id := range req.VolumeIds {
			if disk, ok := disks[types.ID(id)]; ok {
				batch.VolumeResults = append(batch.VolumeResults, &cnstypes.CnsQueryVolumeInfoResult{
					CnsVolumeOperationResult: cnstypes.CnsVolumeOperationResult{VolumeId: id},
					VolumeInfo:               &cnstypes.CnsBlockVolumeInfo{VStorageObject: disk.VStorageObject.VStorageObject},
				})
			}
		}
		return batch, nil
	})
	return &methods.CnsQueryVolumeInfoBody{Res: &cnstypes.CnsQueryVolumeInfoResponse{Returnval: task.Run(vctx)}}
}
