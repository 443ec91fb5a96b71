// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// topLevel is true for a datastore on which every client can create top-level directories.
func topLevel(ds *simulator.Datastore) bool {
	can := ds.Capability.TopLevelDirectoryCreateSupported
	return can == nil || *can
}

// namespace returns the directory with the display name, or the directory itself. The name is a symbolic link next to
// the directory, so that it is deleted and saved with the files.
func (d *Datastores) namespace(ds *simulator.Datastore, name string) string {
	if id, err := os.Readlink(filepath.Join(ds.Summary.Url, "."+name)); err == nil {
		return id
	}
	return name
}

// CreateDirectory creates a top-level directory on datastores on which only this manager can.
func (d *Datastores) CreateDirectory(ctx *simulator.Context, req *types.CreateDirectory) soap.HasFault {
	body := &methods.CreateDirectoryBody{}
	id, fault := d.createNamespace(ctx, req)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.CreateDirectoryResponse{Returnval: id}
	return body
}

func (d *Datastores) createNamespace(ctx *simulator.Context, req *types.CreateDirectory) (string, types.BaseMethodFault) {
	if fault := d.ordered("CreateDirectory"); fault != nil {
		return "", fault
	}
	ds, ok := ctx.Map.Get(req.Datastore).(*simulator.Datastore)
	name := types.FileFault{File: req.DisplayName}
	switch {
	case !ok:
		return "", &types.ManagedObjectNotFound{Obj: req.Datastore}
	case topLevel(ds):
		return "", &types.CannotCreateFile{FileFault: name}
	case req.DisplayName == "" || strings.ContainsAny(req.DisplayName, `/\`):
		return "", &types.InvalidDatastorePath{DatastorePath: req.DisplayName}
	}
	id := uuid.NewString()
	link := filepath.Join(ds.Summary.Url, "."+req.DisplayName)
	if err := os.Symlink(id, link); err != nil {
		return "", &types.FileAlreadyExists{FileFault: name}
	}
	if err := os.Mkdir(filepath.Join(ds.Summary.Url, id), 0o700); err != nil {
		return "", &types.CannotCreateFile{FileFault: name}
	}
	return path.Join(ds.Summary.Url, id), nil
}

// DeleteDirectory deletes a top-level directory with its contents.
func (d *Datastores) DeleteDirectory(ctx *simulator.Context, req *types.DeleteDirectory) soap.HasFault {
	body := &methods.DeleteDirectoryBody{}
	fault := d.ordered("DeleteDirectory")
	if fault == nil {
		fault = d.deleteNamespace(ctx, req)
	}
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.DeleteDirectoryResponse{}
	return body
}

func (d *Datastores) deleteNamespace(ctx *simulator.Context, req *types.DeleteDirectory) types.BaseMethodFault {
	ds, id := d.of(req.DatastorePath)
	if ds == nil || topLevel(ds) || id == "" || strings.Contains(id, "/") {
		return &types.InvalidDatastorePath{DatastorePath: req.DatastorePath}
	}
	id = d.namespace(ds, id)
	if fault := d.remove(ctx, req.Datacenter, "["+ds.Name+"] "+id, true); fault != nil {
		return fault
	}
	links, _ := filepath.Glob(filepath.Join(ds.Summary.Url, ".*"))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == id {
			_ = os.Remove(link)
		}
	}
	return nil
}

// ConvertNamespacePathToUuidPath replaces a display name by its UUID.
func (d *Datastores) ConvertNamespacePathToUuidPath(_ *simulator.Context, req *types.ConvertNamespacePathToUuidPath) soap.HasFault {
	body := &methods.ConvertNamespacePathToUuidPathBody{}
	ds, p := d.of(req.NamespaceUrl)
	switch {
	case req.Datacenter == nil:
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "datacenter"})
	case ds == nil:
		body.Fault_ = simulator.Fault("", &types.InvalidDatastorePath{DatastorePath: req.NamespaceUrl})
	case topLevel(ds):
		body.Fault_ = simulator.Fault("", &types.InvalidDatastore{Datastore: &ds.Self})
	default:
		top, rest, _ := strings.Cut(p, "/")
		body.Res = &types.ConvertNamespacePathToUuidPathResponse{Returnval: path.Join(ds.Summary.Url, d.namespace(ds, top), rest)}
	}
	return body
}

// of returns the datastore of a URL, and the rest of the path.
func (d *Datastores) of(url string) (*simulator.Datastore, string) {
	for _, e := range d.registry.All("Datastore") {
		if ds, ok := e.(*simulator.Datastore); ok {
			if rest, found := strings.CutPrefix(url, strings.TrimSuffix(ds.Summary.Url, "/")+"/"); found {
				return ds, strings.Trim(rest, "/")
			}
		}
	}
	return nil, ""
}
