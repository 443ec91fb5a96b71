// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastore

import (
	"context"
	"fmt"
	"path"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Location is a resolved datastore.
type Location struct {
	// Datacenter is the datacenter of the datastore. Datastore paths refer to it.
	Datacenter types.ManagedObjectReference
	// Datastore is the datastore, and Browser lists its files.
	Datastore, Browser types.ManagedObjectReference
	// Name and URL are properties of the datastore.
	Name, URL string
	// InventoryPath is the datastore's inventory path.
	InventoryPath string
	// NeedsNamespaceManager is true if top-level directories can be created only with the namespace manager (API,
	// DatastoreCapability.topLevelDirectoryCreateSupported).
	NeedsNamespaceManager bool
}

// Locate resolves a datastore.
func Locate(ctx context.Context, s *session.Session, datacenter, ref types.ManagedObjectReference) (Location, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return Location{}, err
	}
	var ds mo.Datastore
	err = property.DefaultCollector(c).RetrieveOne(ctx, ref, []string{"browser", "capability.topLevelDirectoryCreateSupported", "summary.name", "summary.url", "summary.type"}, &ds)
	if err != nil {
		return Location{}, fmt.Errorf("reading datastore %s: %w", ref.Value, err)
	}
	inventoryPath, err := find.InventoryPath(ctx, c, ref)
	if err != nil {
		return Location{}, fmt.Errorf("finding the inventory path of datastore %s: %w", ref.Value, err)
	}
	// If a server does not report the capability, all datastores except vSAN support it (vSphere API, same
	// property).
	namespaced := ds.Summary.Type == string(types.HostFileSystemVolumeFileSystemTypeVsan)
	if top := ds.Capability.TopLevelDirectoryCreateSupported; top != nil {
		namespaced = !*top
	}
	return Location{Datacenter: datacenter, Datastore: ref, Browser: ds.Browser, Name: ds.Summary.Name, URL: ds.Summary.Url,
		InventoryPath: inventoryPath, NeedsNamespaceManager: namespaced}, nil
}

// Path returns the datastore path of a file.
func (p Location) Path(elements ...string) string {
	return (&object.DatastorePath{Datastore: p.Name, Path: path.Join(elements...)}).String()
}

// Split returns the directory and the file name of a datastore path.
func Split(file string) (dir, name string) {
	var p object.DatastorePath
	if !p.FromString(file) {
		return "", file
	}
	name = path.Base(p.Path)
	p.Path = path.Dir(p.Path)
	return p.String(), name
}
