// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// folderAt is a folder and its inventory path.
type folderAt struct {
	ref  types.ManagedObjectReference
	path string
}

// folders resolves the managed folder and its subfolders, one for each namespace.
type folders struct {
	*lookup
	managed    cache[folderAt]
	namespaces cache[types.ManagedObjectReference]
}

// Folder returns the managed folder and its inventory path. It does not use the cache, because the folder may have
// been recreated and the caller is about to follow its content.
func (f *folders) Folder(ctx context.Context) (types.ManagedObjectReference, string, error) {
	previous, known := f.managed.known("")
	current, err := f.managed.renew(ctx, "", f.findFolder)
	if _, still := f.managed.known(""); known && (!still || previous != current) {
		f.namespaces.clear() // The namespace folders were deleted with the managed folder.
	}
	return current.ref, current.path, err
}

// folder is Folder with the cache, for callers that detect a deleted folder.
func (f *folders) folder(ctx context.Context) (types.ManagedObjectReference, string, error) {
	at, err := f.managed.get(ctx, "", f.findFolder)
	return at.ref, at.path, err
}

// folderPaths returns the possible inventory paths of the managed folder.
func (f *folders) folderPaths(dc *object.Datacenter) []string {
	return vmPaths(dc, strings.TrimPrefix(f.site.folder, "vm/"))
}

// vmPaths returns the possible inventory paths for a path. A path without leading slash is relative to the
// datacenter's VM folder.
func vmPaths(dc *object.Datacenter, name string) []string {
	var out []string
	for _, p := range Spellings(name) {
		if !strings.HasPrefix(p, "/") {
			p = path.Join(dc.InventoryPath, "vm", p)
		}
		out = append(out, p)
	}
	return out
}

func (f *folders) findFolder(ctx context.Context) (folderAt, error) {
	_, dc, c, err := f.finder(ctx)
	if err != nil {
		return folderAt{}, err
	}
	paths := f.folderPaths(dc)
	ref, at, err := FindAtPath(ctx, c, WhatFolder, paths)
	if err != nil {
		return folderAt{}, err
	}
	if ref == nil && f.site.createFolder {
		folders, ferr := dc.Folders(ctx)
		if ferr != nil {
			return folderAt{}, fmt.Errorf("finding the VM folder of datacenter %s: %w", dc.InventoryPath, ferr)
		}
		created, cerr := createFolder(ctx, folders.VmFolder, defaultFolder)
		if cerr != nil {
			return folderAt{}, cerr
		}
		ref, at = object.NewFolder(c, created), paths[0]
	}
	if ref == nil || ref.Reference().Type != "Folder" {
		return folderAt{}, &NotUsableError{Message: fmt.Sprintf("vSphere has no folder %q", paths[0]), Missing: true}
	}
	return folderAt{ref: ref.Reference(), path: at}, nil
}

// NamespaceFolder returns the folder of a namespace. It creates the folder if it is missing.
func (f *folders) NamespaceFolder(ctx context.Context, namespace string) (types.ManagedObjectReference, error) {
	return f.namespaces.get(ctx, namespace, func(ctx context.Context) (types.ManagedObjectReference, error) {
		parent, parentPath, err := f.folder(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		c, err := f.session.Vim(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		// createFolder also finds an existing folder, because a name is unique in its folder.
		ref, err := createFolder(ctx, object.NewFolder(c, parent), namespace)
		if err != nil {
			return types.ManagedObjectReference{}, fmt.Errorf("folder of namespace %s in %s: %w", namespace, parentPath, err)
		}
		return ref, nil
	})
}

// KnownNamespaceFolder returns the folder of a namespace if it is cached.
func (f *folders) KnownNamespaceFolder(namespace string) (types.ManagedObjectReference, bool) {
	return f.namespaces.known(namespace)
}

// createFolder creates a folder or returns the existing one.
func createFolder(ctx context.Context, parent *object.Folder, name string) (types.ManagedObjectReference, error) {
	created, err := parent.CreateFolder(ctx, name)
	if existing, ok := vimfault.DuplicateObject(err); ok {
		return existing, nil
	}
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating folder %s: %w", name, err)
	}
	return created.Reference(), nil
}
