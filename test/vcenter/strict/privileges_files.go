// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	fileManagement  = "Datastore.FileManagement"
	browse          = "Datastore.Browse"
	configDatastore = "Datastore.Config"
)

// datastoreNeeds are the privileges for calls on the files of datastores, by the vSphere Web Services API. Methods of
// FileManager and VirtualDiskManager "require Datastore.FileManagement" on each datastore. Searches require
// Datastore.Browse "held on the datastore identified by the datastore path". The namespace manager requires
// Datastore.Config.
func datastoreNeeds(ctx *simulator.Context, method *simulator.Method) []need {
	at := func(dc *types.ManagedObjectReference, path, id string) []need {
		var p object.DatastorePath
		if dc == nil || !p.FromString(path) {
			return nil
		}
		return datastoreNeed(ctx, *dc, p.Datastore, id)
	}
	switch body := method.Body.(type) {
	case *types.CopyVirtualDisk_Task:
		return append(at(body.SourceDatacenter, body.SourceName, fileManagement), at(body.DestDatacenter, body.DestName, fileManagement)...)
	case *types.CopyDatastoreFile_Task:
		return append(at(body.SourceDatacenter, body.SourceName, fileManagement), at(body.DestinationDatacenter, body.DestinationName, fileManagement)...)
	case *types.MakeDirectory:
		return at(body.Datacenter, body.Name, fileManagement)
	case *types.DeleteDatastoreFile_Task:
		return at(body.Datacenter, body.Name, fileManagement)
	case *types.SearchDatastore_Task:
		dc := ctx.Map.Any("Datacenter").Reference()
		return at(&dc, body.DatastorePath, browse)
	case *types.CreateDirectory:
		return []need{{body.Datastore, configDatastore}}
	case *types.DeleteDirectory:
		for _, e := range ctx.Map.All("Datastore") {
			if ds, ok := e.(*simulator.Datastore); ok && strings.HasPrefix(body.DatastorePath, strings.TrimSuffix(ds.Summary.Url, "/")+"/") {
				return []need{{ds.Self, configDatastore}}
			}
		}
	}
	return nil
}

// diskNeeds are those of a creation for its disks and its advanced settings: the list of
// Folder.CreateVM_Task.
func diskNeeds(ctx *simulator.Context, req *types.CreateVM_Task) []need {
	var all []need
	if len(req.Config.ExtraConfig) > 0 {
		all = append(all, need{req.This, "VirtualMachine.Config.AdvancedConfig"})
	}
	for _, c := range req.Config.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		disk, ok := change.Device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		id := "VirtualMachine.Config.AddExistingDisk"
		if change.FileOperation != "" {
			id = "VirtualMachine.Config.AddNewDisk"
		}
		all = append(all, need{req.This, id})
		var p object.DatastorePath
		if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && p.FromString(b.GetVirtualDeviceFileBackingInfo().FileName) {
			all = append(all, datastoreNeed(ctx, req.This, p.Datastore, "Datastore.AllocateSpace")...)
		}
	}
	return all
}
