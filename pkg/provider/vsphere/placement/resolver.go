// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
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

// Resolver resolves the names of one zone. What it resolves, and remembers, is divided by kind.
type Resolver struct {
	opts Options
	*lookup
	*folders
	*compute
	*datastores
	*capacity
	*classes
	*media
	*networks
	*images
}

// New returns a Resolver; it asks nothing yet.
func New(o Options) *Resolver {
	l := &lookup{session: o.Session, site: siteOf(o)}
	co := &compute{lookup: l}
	st := &datastores{lookup: l, compute: co}
	ca := &capacity{lookup: l, compute: co, datastores: st}
	r := &Resolver{
		opts: o, lookup: l, folders: &folders{lookup: l}, compute: co, datastores: st, capacity: ca,
		classes: &classes{lookup: l, datastores: st, capacity: ca}, media: &media{lookup: l},
		networks: &networks{lookup: l, compute: co}, images: &images{lookup: l},
	}
	r.amounts.age, r.stores.age = amountsAge, amountsAge
	r.sources.age = itemAge
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
	r.managed.clear()
	r.namespaces.clear()
	r.pools.clear()
	r.clusters.clear()
	r.configured.clear()
	r.homes.clear()
	r.stores.clear()
	r.amounts.clear()
	r.policies.clear()
	r.profiles.clear()
	r.keyProviders.clear()
	r.isos.clear()
	r.backings.clear()
	r.sources.clear()
}

// Stale reports whether err, of an operation, means that an object which was found
// before is gone, such as a template or a network that was made again.
func Stale(err error) bool {
	return vimfault.KindOf(err) == vimfault.NotFound || vimfault.InvalidBacking(err)
}

// lookup reads the vCenter of one zone.
type lookup struct {
	session *session.Session
	site    site

	datacenters cache[*object.Datacenter]
}

func (l *lookup) finder(ctx context.Context) (*find.Finder, *object.Datacenter, *vim25.Client, error) {
	if l.site.err != nil {
		return nil, nil, nil, l.site.err
	}
	c, err := l.session.Vim(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	dc, err := l.datacenters.get(ctx, "", func(ctx context.Context) (*object.Datacenter, error) {
		return one(ctx, c, "datacenter", l.site.datacenter, "*", find.NewFinder(c, false).DatacenterList)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return find.NewFinder(c, false).SetDatacenter(dc), dc, c, nil
}

// retrieve reads properties of objects.
func (l *lookup) retrieve(ctx context.Context, what string, refs []types.ManagedObjectReference, paths []string, into any) error {
	c, err := l.session.Vim(ctx)
	if err != nil {
		return err
	}
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, paths, into); err != nil {
		return fmt.Errorf("reading %s of %s: %w", what, l.site.by, err)
	}
	return nil
}

// explain words the finder's errors in terms of the option.
func explain(what, name string, err error) error {
	var missing *find.NotFoundError
	switch {
	case errors.As(err, &missing), vimfault.KindOf(err) == vimfault.NotFound:
		if name == "" {
			return &NotUsableError{Message: "vSphere has no " + what, Missing: true}
		}
		return &NotUsableError{Message: fmt.Sprintf("vSphere has no %s %q", what, name), Missing: true}
	}
	return fmt.Errorf("finding %s %q: %w", what, name, err)
}

// NotUsableError means that a name does not lead to exactly one usable object.
type NotUsableError = driver.NotUsableError
