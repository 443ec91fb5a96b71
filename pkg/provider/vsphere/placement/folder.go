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

// Folder returns the managed folder and its inventory path. It looks for the folder
// each time, for it may have been deleted and made again: who asks is about to follow
// what is in it.
func (r *Resolver) Folder(ctx context.Context) (types.ManagedObjectReference, string, error) {
	before, known := r.folders.known("")
	at, err := r.folders.renew(ctx, "", r.findFolder)
	if _, still := r.folders.known(""); known && (!still || before != at) {
		r.namespaces.clear() // They went with the folder.
	}
	return at.ref, at.path, err
}

// folder is Folder from memory, for what finds out by itself that it is gone.
func (r *Resolver) folder(ctx context.Context) (types.ManagedObjectReference, string, error) {
	at, err := r.folders.get(ctx, "", r.findFolder)
	return at.ref, at.path, err
}

// folderPath is the inventory path of the managed folder.
func (r *Resolver) folderPath(dc *object.Datacenter) string {
	p := r.site.folder
	if !strings.HasPrefix(p, "/") {
		p = path.Join(dc.InventoryPath, "vm", strings.TrimPrefix(p, "vm/"))
	}
	return p
}

func (r *Resolver) findFolder(ctx context.Context) (folderAt, error) {
	_, dc, c, err := r.finder(ctx)
	if err != nil {
		return folderAt{}, err
	}
	p := r.folderPath(dc)
	ref, err := object.NewSearchIndex(c).FindByInventoryPath(ctx, p)
	if err != nil {
		return folderAt{}, explain("folder", p, err)
	}
	if ref == nil && r.site.makeFolder {
		folders, ferr := dc.Folders(ctx)
		if ferr != nil {
			return folderAt{}, fmt.Errorf("finding the VM folder of datacenter %s: %w", dc.InventoryPath, ferr)
		}
		made, cerr := createFolder(ctx, folders.VmFolder, defaultFolder)
		if cerr != nil {
			return folderAt{}, cerr
		}
		ref = object.NewFolder(c, made)
	}
	if ref == nil || ref.Reference().Type != "Folder" {
		return folderAt{}, &NotUsableError{Message: fmt.Sprintf("vSphere has no folder %q", p), Missing: true}
	}
	return folderAt{ref: ref.Reference(), path: p}, nil
}

// NamespaceFolder returns the folder of a namespace, making it if needed.
func (r *Resolver) NamespaceFolder(ctx context.Context, namespace string) (types.ManagedObjectReference, error) {
	return r.namespaces.get(ctx, namespace, func(ctx context.Context) (types.ManagedObjectReference, error) {
		parent, parentPath, err := r.folder(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		c, err := r.opts.Session.Vim(ctx)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		// Making it is what finds it too: a name is unique in its folder.
		ref, err := createFolder(ctx, object.NewFolder(c, parent), namespace)
		if err != nil {
			return types.ManagedObjectReference{}, fmt.Errorf("folder of namespace %s in %s: %w", namespace, parentPath, err)
		}
		return ref, nil
	})
}

// KnownNamespaceFolder returns the folder of a namespace if it was resolved before.
func (r *Resolver) KnownNamespaceFolder(namespace string) (types.ManagedObjectReference, bool) {
	return r.namespaces.known(namespace)
}

// createFolder makes a folder or returns the one that exists.
func createFolder(ctx context.Context, parent *object.Folder, name string) (types.ManagedObjectReference, error) {
	made, err := parent.CreateFolder(ctx, name)
	if existing, ok := vimfault.Duplicate(err); ok {
		return existing, nil
	}
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating folder %s: %w", name, err)
	}
	return made.Reference(), nil
}
