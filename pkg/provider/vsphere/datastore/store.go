// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastore

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Waiter waits for tasks.
type Waiter interface {
	// WaitTask waits for the end of a task and returns its result.
	WaitTask(ctx context.Context, task types.ManagedObjectReference) (types.AnyType, error)
}

// Store manages files on datastores.
type Store struct {
	// Session is the vCenter session.
	Session *session.Session
	// Inventory waits for tasks.
	Inventory Waiter
}

// Make creates a top-level directory on a datastore and returns its datastore path. On a namespaced datastore the
// path has another name. If the directory exists, it returns a FileAlreadyExists fault; see IsAlreadyExists.
func (s *Store) Make(ctx context.Context, p Location, name string) (string, error) {
	c, err := s.Session.Vim(ctx)
	if err != nil {
		return "", err
	}
	dir := p.Path(name)
	if !p.Namespaced {
		_, err = methods.MakeDirectory(ctx, c, &types.MakeDirectory{This: *c.ServiceContent.FileManager, Name: dir, Datacenter: &p.Datacenter})
	} else {
		var res *types.CreateDirectoryResponse
		res, err = methods.CreateDirectory(ctx, c, &types.CreateDirectory{
			This: *c.ServiceContent.DatastoreNamespaceManager, Datastore: p.Datastore, DisplayName: name})
		if err == nil {
			dir = p.Path(path.Base(res.Returnval))
		}
	}
	if err != nil {
		return "", fmt.Errorf("creating directory %s: %w", dir, err)
	}
	return dir, nil
}

// IsAlreadyExists reports whether err means that a file or directory already exists.
func IsAlreadyExists(err error) bool { return fault.Is(err, &types.FileAlreadyExists{}) }

// IsNotFound reports whether err means that a file or directory does not exist.
func IsNotFound(err error) bool { return fault.Is(err, &types.FileNotFound{}) }

// Find returns the datastore path of a top-level directory. The directory need not exist.
func (s *Store) Find(ctx context.Context, p Location, name string) (string, error) {
	if !p.Namespaced {
		return p.Path(name), nil
	}
	c, err := s.Session.Vim(ctx)
	if err != nil {
		return "", err
	}
	res, err := methods.ConvertNamespacePathToUuidPath(ctx, c, &types.ConvertNamespacePathToUuidPath{
		This: *c.ServiceContent.DatastoreNamespaceManager, Datacenter: &p.Datacenter, NamespaceUrl: strings.TrimSuffix(p.URL, "/") + "/" + name})
	switch {
	case IsNotFound(err):
		return p.Path(name), nil
	case err != nil:
		return "", fmt.Errorf("finding directory %s: %w", p.Path(name), err)
	}
	return p.Path(path.Base(res.Returnval)), nil
}

// Files lists the files of a directory, without subdirectories. exists is false if the directory does not exist.
func (s *Store) Files(ctx context.Context, p Location, dir string) (files []types.BaseFileInfo, exists bool, err error) {
	result, err := s.task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.SearchDatastore_Task(ctx, c, &types.SearchDatastore_Task{
			This: p.Browser, DatastorePath: dir,
			SearchSpec: &types.HostDatastoreBrowserSearchSpec{Details: &types.FileQueryFlags{FileSize: true, FileType: true, Modification: true}},
		})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	switch {
	case IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("listing %s: %w", dir, err)
	}
	found, ok := result.(types.HostDatastoreBrowserSearchResults)
	if !ok {
		return nil, false, fmt.Errorf("listing %s: unexpected result type %T", dir, result)
	}
	return found.File, true, nil
}

// Has reports whether files contains a file with the name.
func Has(files []types.BaseFileInfo, name string) bool {
	return slices.ContainsFunc(files, func(f types.BaseFileInfo) bool { return path.Base(f.GetFileInfo().Path) == name })
}

// Remove removes a directory with its content.
func (s *Store) Remove(ctx context.Context, p Location, dir string) error {
	_, err := s.task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.DeleteDatastoreFile_Task(ctx, c, &types.DeleteDatastoreFile_Task{
			This: *c.ServiceContent.FileManager, Name: dir, Datacenter: &p.Datacenter})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err == nil && p.Namespaced {
		err = s.removeNamespace(ctx, p, dir)
	}
	if err != nil && !IsNotFound(err) {
		return fmt.Errorf("removing directory %s: %w", dir, err)
	}
	return nil
}

// removeNamespace removes the namespace manager's entry of a directory after its files were removed.
func (s *Store) removeNamespace(ctx context.Context, p Location, dir string) error {
	c, err := s.Session.Vim(ctx)
	if err != nil {
		return err
	}
	_, name := Split(dir)
	_, err = methods.DeleteDirectory(ctx, c, &types.DeleteDirectory{
		This: *c.ServiceContent.DatastoreNamespaceManager, Datacenter: &p.Datacenter,
		DatastorePath: strings.TrimSuffix(strings.TrimPrefix(p.URL, "ds://"), "/") + "/" + name})
	return err
}

// Copy copies a file to an unused path and waits for the copy.
func (s *Store) Copy(ctx context.Context, t Transfer) error {
	task, err := s.Begin(ctx, t)
	if err != nil {
		return err
	}
	if _, err := s.Inventory.WaitTask(ctx, task); err != nil {
		return t.Failed(err)
	}
	return nil
}

// task starts a task and waits for its end.
func (s *Store) task(ctx context.Context, start func(*vim25.Client) (types.ManagedObjectReference, error)) (types.AnyType, error) {
	c, err := s.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := start(c)
	if err != nil {
		return nil, err
	}
	return s.Inventory.WaitTask(ctx, ref)
}
