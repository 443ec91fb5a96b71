// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"fmt"
	"maps"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Directories implements provider.ImageFiles.
func (f *Files) Directories(ctx context.Context) ([]provider.ImageDirectory, error) {
	all, err := f.allDatastores(ctx)
	if err != nil {
		return nil, err
	}
	var out []provider.ImageDirectory
	for i := range all {
		if !all[i].Summary.Accessible {
			continue
		}
		found, err := f.directoriesOn(ctx, all[i].Self)
		if err != nil {
			return nil, fmt.Errorf("listing image copies on datastore %s: %w", all[i].Name, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// directoriesOn returns the directories on one datastore.
func (f *Files) directoriesOn(ctx context.Context, ref types.ManagedObjectReference) ([]provider.ImageDirectory, error) {
	at, err := f.lookUp(ctx, ref)
	if err != nil {
		return nil, err
	}
	top, err := f.store.DirectoryPath(ctx, at, ParentDirectory)
	if err != nil {
		return nil, err
	}
	files, _, err := f.store.Files(ctx, at, top)
	if err != nil {
		return nil, err
	}
	var out []provider.ImageDirectory
	for _, info := range files {
		if directory := top + "/" + info.GetFileInfo().Path; f.owns(directory) {
			out = append(out, provider.ImageDirectory{DatastoreID: ref.Value, Directory: directory})
		}
	}
	return out, nil
}

// Space implements provider.ImageFiles.
func (f *Files) Space(ctx context.Context) (map[string]provider.ImageSpace, error) {
	all, err := f.allDatastores(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]provider.ImageSpace, len(all))
	for i := range all {
		out[all[i].Self.Value] = provider.ImageSpace{Free: all[i].Summary.FreeSpace, Capacity: all[i].Summary.Capacity}
	}
	return out, nil
}

// InUse implements provider.ImageFiles.
func (f *Files) InUse(ctx context.Context, datastoreID string, directories []string) (map[string]string, error) {
	used, err := f.userOf(ctx, types.ManagedObjectReference{Type: "Datastore", Value: datastoreID}, directories...)
	if err != nil {
		return nil, err
	}
	maps.Copy(used, f.uses.of(directories))
	return used, nil
}
