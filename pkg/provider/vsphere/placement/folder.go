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

// Folder returns the managed folder and its inventory path.
func (r *Resolver) Folder(ctx context.Context) (types.ManagedObjectReference, string, error) {
	if ref, ok := remembered(r, func() (*types.ManagedObjectReference, bool) { return r.folder, r.folder != nil }); ok {
		return *ref, r.folderPath, nil
	}
	_, dc, c, err := r.finder(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, "", err
	}
	p := r.opts.Folder
	if p == "" {
		p = defaultFolder
	}
	if !strings.HasPrefix(p, "/") {
		p = path.Join(dc.InventoryPath, "vm", strings.TrimPrefix(p, "vm/"))
	}
	ref, err := object.NewSearchIndex(c).FindByInventoryPath(ctx, p)
	if err != nil {
		return types.ManagedObjectReference{}, "", explain("folder", p, err)
	}
	if ref == nil && r.opts.Folder == "" {
		folders, ferr := dc.Folders(ctx)
		if ferr != nil {
			return types.ManagedObjectReference{}, "", fmt.Errorf("finding the VM folder of datacenter %s: %w", dc.InventoryPath, ferr)
		}
		made, cerr := createFolder(ctx, folders.VmFolder, defaultFolder)
		if cerr != nil {
			return types.ManagedObjectReference{}, "", cerr
		}
		ref = object.NewFolder(c, made)
	}
	if ref == nil || ref.Reference().Type != "Folder" {
		return types.ManagedObjectReference{}, "", &NotUsableError{Message: fmt.Sprintf("vSphere has no folder %q", p), Missing: true}
	}
	found := ref.Reference()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folder, r.folderPath = &found, p
	return found, p, nil
}

// NamespaceFolder returns the folder of a namespace, making it if needed.
func (r *Resolver) NamespaceFolder(ctx context.Context, namespace string) (types.ManagedObjectReference, error) {
	if ref, ok := remembered(r, func() (types.ManagedObjectReference, bool) { v, ok := r.namespaces[namespace]; return v, ok }); ok {
		return ref, nil
	}
	parent, parentPath, err := r.Folder(ctx)
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namespaces[namespace] = ref
	return ref, nil
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
