// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// defaultFolder is made below the datacenter's VM folder when none is named.
const defaultFolder = "slipway"

// Options say where virtual machines go. Datacenter and what follows it are the server's
// flags, by inventory path or name; an empty one means the only one, and of the folder,
// one named slipway that is made if missing.
type Options struct {
	// Session to vCenter.
	Session *session.Session
	// Name of the zone.
	Name string
	// Zone says where, in the place of what follows.
	Zone *vmv1alpha1.ZoneSpec
	// Datacenter that everything is in.
	Datacenter string
	// ResourcePool of the virtual machines; a cluster's root pool works too.
	ResourcePool string
	// Folder that holds one folder for each namespace.
	Folder string
	// Datastore of the disks.
	Datastore string
	// Network of interfaces that name none.
	Network string
	// Networks are those that interfaces may name besides Network; driver.Any stands for
	// all.
	Networks []string
	// HostDevices are those that virtual machines may have; driver.Any stands for all.
	HostDevices []string
}

// Resolver resolves the names of one zone.
type Resolver struct {
	opts Options
	site site

	datacenters cache[*object.Datacenter]
	// folders hold the managed folder, pools and datastores the configured ones.
	folders           cache[folderAt]
	pools, datastores cache[[]types.ManagedObjectReference]
	// namespaces are their folders, backings the networks by name, images by source.
	namespaces cache[types.ManagedObjectReference]
	backings   cache[types.BaseVirtualDeviceBackingInfo]
	images     cache[Source]
	// policies are the storage policies of classes, profiles their IDs by name, stores
	// the datastores of the zone, keyProviders the default one, isos files of library items.
	policies     cache[storage.Policy]
	profiles     cache[map[string]string]
	stores       cache[[]storage.Datastore]
	keyProviders cache[string]
	isos         cache[string]
	// homes are datastores by managed object ID.
	homes cache[datastore.Place]
	// amounts are what the zone has, for a short time.
	amounts cache[Amounts]
	// clusters are by resource pool.
	clusters cache[cluster]
	// hosts, of clusters without DRS, are read for many VMs at once and not remembered.
	hosts cache[[]mo.HostSystem]
}

// New returns a Resolver; it asks nothing yet.
func New(o Options) *Resolver {
	r := &Resolver{opts: o, site: siteOf(o)}
	r.amounts.age, r.stores.age = amountsAge, amountsAge
	r.images.age = itemAge
	return r
}

// Unknown returns a Resolver for a zone that is not there: it finds no place and says why.
func Unknown(s *session.Session, zone string) *Resolver {
	r := New(Options{Session: s, Name: zone, Zone: &vmv1alpha1.ZoneSpec{}})
	r.site.err = &NotUsableError{Message: fmt.Sprintf("there is no Zone %q", zone), Missing: true}
	return r
}

// Invalidate forgets everything, after something turned out to be Stale.
func (r *Resolver) Invalidate() {
	r.datacenters.clear()
	r.folders.clear()
	r.pools.clear()
	r.datastores.clear()
	r.namespaces.clear()
	r.backings.clear()
	r.images.clear()
	r.amounts.clear()
	r.policies.clear()
	r.profiles.clear()
	r.stores.clear()
	r.keyProviders.clear()
	r.isos.clear()
	r.homes.clear()
	r.clusters.clear()
}

// Stale reports whether err, of an operation, means that an object which was found
// before is gone, such as a template or a network that was made again.
func Stale(err error) bool {
	return vimfault.KindOf(err) == vimfault.NotFound || vimfault.InvalidBacking(err)
}

func (r *Resolver) finder(ctx context.Context) (*find.Finder, *object.Datacenter, *vim25.Client, error) {
	if r.site.err != nil {
		return nil, nil, nil, r.site.err
	}
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	dc, err := r.datacenters.get(ctx, "", func(ctx context.Context) (*object.Datacenter, error) {
		dc, err := find.NewFinder(c, false).DatacenterOrDefault(ctx, exact(r.site.datacenter))
		if err != nil {
			return nil, explain("datacenter", r.site.datacenter, err)
		}
		return dc, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return find.NewFinder(c, false).SetDatacenter(dc), dc, c, nil
}

// explain words the finder's errors in terms of the option.
func explain(what, name string, err error) error {
	var missing *find.NotFoundError
	var many *find.DefaultMultipleFoundError
	var none *find.DefaultNotFoundError
	switch {
	case errors.As(err, &many):
		return &NotUsableError{Message: fmt.Sprintf("vSphere has more than one %s: name one", what)}
	case errors.As(err, &missing), errors.As(err, &none), vimfault.KindOf(err) == vimfault.NotFound:
		if name == "" {
			return &NotUsableError{Message: "vSphere has no " + what, Missing: true}
		}
		return &NotUsableError{Message: fmt.Sprintf("vSphere has no %s %q", what, name), Missing: true}
	}
	return fmt.Errorf("finding %s %q: %w", what, name, err)
}

// NotUsableError means that a name does not lead to exactly one usable object.
type NotUsableError = driver.NotUsableError
