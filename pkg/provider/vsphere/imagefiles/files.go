// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Options configure a Files.
type Options struct {
	// Session is the vCenter session.
	Session *session.Session
	// Inventory waits for tasks.
	Inventory *inventory.Inventory
	// Descriptors reads the descriptors of library items.
	Descriptors *descriptor.Reader
	// Owner identifies this server among others that use the same vCenter. If it is empty, copying fails.
	Owner string
	// FindCreateTask returns the ID of a task with which vCenter may create a virtual machine for an earlier process,
	// or an empty string. Such a virtual machine is not in the inventory yet.
	FindCreateTask func(ctx context.Context) (string, error)
}

// Files implements provider.ImageFiles for one vCenter.
type Files struct {
	opts  Options
	store *datastore.Store
	// tops caches the parent directories of all copies. Keys and values are strings; the key is the datastore.
	tops sync.Map
	uses uses
}

var _ provider.ImageFiles = (*Files)(nil)

// New returns a Files. It does not query vSphere.
func New(o Options) *Files {
	return &Files{opts: o, store: &datastore.Store{Session: o.Session, Inventory: o.Inventory}}
}

// Locate implements provider.ImageFiles.
func (f *Files) Locate(ctx context.Context, source vmv1alpha1.ContentLibraryImageSource, location vmv1alpha1.VirtualMachineImageCacheLocation, before provider.CacheLocation) (provider.ImageCopyLocation, error) {
	if f.opts.Owner == "" {
		return provider.ImageCopyLocation{}, errors.New("this server has no identity to mark its copies with")
	}
	item, err := f.item(ctx, source)
	if err != nil {
		return provider.ImageCopyLocation{}, err
	}
	image, err := f.opts.Descriptors.Read(ctx, f.opts.Session, item.ID)
	if err != nil {
		return provider.ImageCopyLocation{}, err
	}
	if err := image.Hardware.Err; err != nil {
		return provider.ImageCopyLocation{}, err
	}
	at, err := f.datastore(ctx, location.Datastore, before.DatastoreID)
	if err != nil {
		return provider.ImageCopyLocation{}, err
	}
	profile, err := f.profile(ctx, location.StoragePolicy, before.ProfileID)
	if err != nil {
		return provider.ImageCopyLocation{}, err
	}
	top, err := f.top(ctx, at)
	if err != nil {
		return provider.ImageCopyLocation{}, err
	}
	return provider.ImageCopyLocation{
		DatastoreID: at.Datastore.Value, ProfileID: profile, ItemID: item.ID, ContentVersion: image.Version,
		Directory: top + "/" + directoryOf(f.opts.Owner, item.ID, image.Version, profile),
	}, nil
}

// item finds an OVF item.
func (f *Files) item(ctx context.Context, source vmv1alpha1.ContentLibraryImageSource) (item *library.Item, err error) {
	err = f.opts.Session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) (err error) {
		item, err = placement.FindItem(ctx, library.NewManager(c), source)
		return err
	})
	if err != nil {
		return nil, err
	}
	return item, placement.CheckDeployable(source, item.Type)
}

// top returns the parent directory of all copies on a datastore. It creates the directory if it is missing. Other
// servers use it too, so it is never removed.
func (f *Files) top(ctx context.Context, at datastore.Location) (string, error) {
	// A renamed datastore has another path.
	key := at.Datastore.Value + " " + at.Name
	if known, ok := f.tops.Load(key); ok {
		return known.(string), nil
	}
	dir, err := f.store.Make(ctx, at, ParentDirectory)
	if datastore.IsAlreadyExists(err) {
		dir, err = f.store.Find(ctx, at, ParentDirectory)
	}
	if err != nil {
		return "", err
	}
	f.tops.Store(key, dir)
	return dir, nil
}

// placeOf locates the datastore of copies again, because it may have been renamed.
func (f *Files) placeOf(ctx context.Context, place provider.ImageCopyLocation) (datastore.Location, error) {
	return f.lookUp(ctx, types.ManagedObjectReference{Type: "Datastore", Value: place.DatastoreID})
}

// lookUp returns the location of a datastore with its datacenter.
func (f *Files) lookUp(ctx context.Context, ref types.ManagedObjectReference) (datastore.Location, error) {
	dc, err := f.datacenterOf(ctx, ref)
	if err != nil {
		return datastore.Location{}, err
	}
	at, err := datastore.Locate(ctx, f.opts.Session, dc, ref)
	if err != nil {
		return at, fmt.Errorf("locating datastore %s: %w", ref.Value, err)
	}
	return at, nil
}
