// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// SearchDatastoreTask lists a directory, including the extents of disks next to their descriptors.
func (d *Datastores) SearchDatastoreTask(ctx *simulator.Context, req *types.SearchDatastore_Task) soap.HasFault {
	of := types.ManagedObjectReference{Type: "SlipwayFile", Value: req.DatastorePath}
	task := simulator.CreateTask(of, "SearchDatastore_Task", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if fault := d.ordered("SearchDatastore_Task"); fault != nil {
			return nil, fault
		}
		return d.search(ctx, req)
	})
	task.Info.Name, task.Info.DescriptionId = "SearchDatastore_Task", "HostDatastoreBrowser.searchDatastore"
	return &methods.SearchDatastore_TaskBody{Res: &types.SearchDatastore_TaskResponse{Returnval: task.Run(ctx)}}
}

func (d *Datastores) search(ctx *simulator.Context, req *types.SearchDatastore_Task) (types.AnyType, types.BaseMethodFault) {
	f, fault := d.resolveAny(ctx, req.DatastorePath)
	if fault != nil {
		return nil, fault
	}
	res, err := d.directory(f, req.DatastorePath, req.SearchSpec)
	if err != nil {
		return nil, &types.FileNotFound{FileFault: f.fault()}
	}
	return res, nil
}

// resolveAny resolves a path in the only datacenter.
func (d *Datastores) resolveAny(ctx *simulator.Context, name string) (file, types.BaseMethodFault) {
	dc := d.registry.Any("Datacenter").Reference()
	return d.resolve(ctx, &dc, name)
}

// SearchDatastoreSubFoldersTask lists a directory and its descendants. Files that are deleted during the search are
// omitted. The simulator's own search panics then.
func (d *Datastores) SearchDatastoreSubFoldersTask(ctx *simulator.Context, req *types.SearchDatastoreSubFolders_Task) soap.HasFault {
	of := types.ManagedObjectReference{Type: "SlipwayFile", Value: req.DatastorePath}
	task := simulator.CreateTask(of, "SearchDatastoreSubFolders_Task", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		f, fault := d.resolveAny(ctx, req.DatastorePath)
		if fault != nil {
			return nil, fault
		}
		if !f.there() {
			return nil, &types.FileNotFound{FileFault: f.fault()}
		}
		var all types.ArrayOfHostDatastoreBrowserSearchResults
		_ = filepath.WalkDir(f.disk, func(p string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil // it was deleted meanwhile
			}
			below := strings.TrimPrefix(strings.TrimPrefix(p, f.disk), "/")
			one := file{name: f.name, on: f.on, path: path.Join(f.path, below), disk: p}
			if res, err := d.directory(one, path.Join(req.DatastorePath, below), req.SearchSpec); err == nil {
				all.HostDatastoreBrowserSearchResults = append(all.HostDatastoreBrowserSearchResults, res)
			}
			return nil
		})
		return all, nil
	})
	task.Info.Name, task.Info.DescriptionId = "SearchDatastoreSubFolders_Task", "HostDatastoreBrowser.searchDatastoreSubFolders"
	return &methods.SearchDatastoreSubFolders_TaskBody{Res: &types.SearchDatastoreSubFolders_TaskResponse{Returnval: task.Run(ctx)}}
}

// directory lists a directory. The result contains the path as requested.
func (d *Datastores) directory(f file, folder string, spec *types.HostDatastoreBrowserSearchSpec) (types.HostDatastoreBrowserSearchResults, error) {
	res := types.HostDatastoreBrowserSearchResults{Datastore: &f.on.Self, FolderPath: folder}
	entries, err := os.ReadDir(f.disk)
	if err != nil {
		return res, err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || !matches(spec, entry.Name()) {
			continue
		}
		one := file{name: f.name, on: f.on, path: path.Join(f.path, entry.Name()), disk: filepath.Join(f.disk, entry.Name())}
		res.File = append(res.File, d.info(one, entry, spec))
	}
	return res, nil
}

// matches reports whether a search includes a name.
func matches(spec *types.HostDatastoreBrowserSearchSpec, name string) bool {
	if spec == nil || len(spec.MatchPattern) == 0 {
		return true
	}
	for _, pattern := range spec.MatchPattern {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func (d *Datastores) info(f file, entry os.DirEntry, spec *types.HostDatastoreBrowserSearchSpec) types.BaseFileInfo {
	info := types.FileInfo{Path: entry.Name()}
	details := types.FileQueryFlags{}
	if spec != nil && spec.Details != nil {
		details = *spec.Details
	}
	if details.FileSize && !entry.IsDir() {
		info.FileSize = d.size(f)
	}
	if stat, err := entry.Info(); err == nil && details.Modification {
		at := stat.ModTime()
		info.Modification = &at
	}
	switch {
	case entry.IsDir():
		return &types.FolderFileInfo{FileInfo: info}
	case details.FileType && f.isDisk():
		return &types.VmDiskFileInfo{FileInfo: info}
	}
	return &info
}
