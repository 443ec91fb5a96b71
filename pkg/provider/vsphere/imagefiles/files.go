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

// Options say whose copies these are.
type Options struct {
	// Session to vCenter.
	Session *session.Session
	// Inventory waits for tasks.
	Inventory *inventory.Inventory
	// Descriptors reads those of library items.
	Descriptors *descriptor.Reader
	// Owner tells this server from others that use the same vCenter. Without one nothing is
	// copied.
	Owner string
	// Making names a task by which vCenter may make a virtual machine that an earlier
	// process has asked for, empty for none. It is not in the inventory yet.
	Making func(ctx context.Context) (string, error)
}

// Files implements provider.ImageFiles for one vCenter.
type Files struct {
	opts  Options
	store *datastore.Store
	// tops are the directories that all copies are in, by datastore: string.
	tops sync.Map
	uses uses
}

var _ provider.ImageFiles = (*Files)(nil)

// New returns a Files that does nothing yet.
func New(o Options) *Files {
	return &Files{opts: o, store: &datastore.Store{Session: o.Session, Inventory: o.Inventory}}
}

// Locate implements provider.ImageFiles.
func (f *Files) Locate(ctx context.Context, source vmv1alpha1.ContentLibraryImageSource, location vmv1alpha1.VirtualMachineImageCacheLocation, before provider.CachePlace) (provider.ImagePlace, error) {
	if f.opts.Owner == "" {
		return provider.ImagePlace{}, errors.New("this server has no identity to mark its copies with")
	}
	item, err := f.item(ctx, source)
	if err != nil {
		return provider.ImagePlace{}, err
	}
	image, err := f.opts.Descriptors.Read(ctx, f.opts.Session, item.ID)
	if err != nil {
		return provider.ImagePlace{}, err
	}
	if err := image.Hardware.Err; err != nil {
		return provider.ImagePlace{}, err
	}
	at, err := f.datastore(ctx, location.Datastore, before.DatastoreID)
	if err != nil {
		return provider.ImagePlace{}, err
	}
	profile, err := f.profile(ctx, location.StoragePolicy, before.ProfileID)
	if err != nil {
		return provider.ImagePlace{}, err
	}
	top, err := f.top(ctx, at)
	if err != nil {
		return provider.ImagePlace{}, err
	}
	return provider.ImagePlace{
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
	return item, placement.Deployable(source, item.Type)
}

// top is the directory that all copies on a datastore are in, which is made if it is not
// there. Other servers use it too, and it stays.
func (f *Files) top(ctx context.Context, at datastore.Place) (string, error) {
	// A datastore that was renamed has another path.
	key := at.Datastore.Value + " " + at.Name
	if known, ok := f.tops.Load(key); ok {
		return known.(string), nil
	}
	dir, err := f.store.Make(ctx, at, Top)
	if datastore.Exists(err) {
		dir, err = f.store.Find(ctx, at, Top)
	}
	if err != nil {
		return "", err
	}
	f.tops.Store(key, dir)
	return dir, nil
}

// placeOf looks up the datastore of a place again, which may have another name by now.
func (f *Files) placeOf(ctx context.Context, place provider.ImagePlace) (datastore.Place, error) {
	return f.lookUp(ctx, types.ManagedObjectReference{Type: "Datastore", Value: place.DatastoreID})
}

// lookUp says what is known of a datastore, with its datacenter.
func (f *Files) lookUp(ctx context.Context, ref types.ManagedObjectReference) (datastore.Place, error) {
	dc, err := f.datacenterOf(ctx, ref)
	if err != nil {
		return datastore.Place{}, err
	}
	at, err := datastore.Locate(ctx, f.opts.Session, dc, ref)
	if err != nil {
		return at, fmt.Errorf("looking at datastore %s: %w", ref.Value, err)
	}
	return at, nil
}
