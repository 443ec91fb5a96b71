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

// defaultFolder is created below the datacenter's VM folder if no folder is configured.
const defaultFolder = "slipway"

// Options configure the placement of virtual machines. Datacenter and the fields after it are the server's flags,
// by inventory path or name. An empty flag means the only object of its kind. The default of Folder is a folder
// named slipway, which is created if it is missing.
type Options struct {
	// Session is the vCenter session.
	Session *session.Session
	// Name is the name of the zone.
	Name string
	// Zone is the zone's configuration. If it is set, it replaces the following fields.
	Zone *vmv1alpha1.ZoneSpec
	// Datacenter is the datacenter of all objects.
	Datacenter string
	// ResourcePool is the resource pool of the virtual machines. It may be a cluster's root pool.
	ResourcePool string
	// Folder contains one folder for each namespace.
	Folder string
	// Datastore is the datastore of the disks.
	Datastore string
	// Network is the network of interfaces that do not specify one.
	Network string
	// Networks are other networks that interfaces may specify. driver.Any allows all.
	Networks []string
	// HostDevices are the host devices that virtual machines may use. driver.Any allows all.
	HostDevices []string
}

// Resolver resolves the names of one zone. It has one resolver with a cache for each kind.
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

// New returns a Resolver. It does not query vSphere.
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

// NewUnknown returns a Resolver for a zone that does not exist. All its lookups return an error with the reason.
func NewUnknown(s *session.Session, zone string) *Resolver {
	r := New(Options{Session: s, Name: zone, Zone: &vmv1alpha1.ZoneSpec{}})
	r.site.err = &NotUsableError{Message: fmt.Sprintf("there is no Zone %q", zone), Missing: true}
	return r
}

// Invalidate clears all caches. It must be called after an error for which IsStale returns true.
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

// IsStale reports whether an operation's error means that a resolved object was deleted, such as a template or a
// network that was recreated.
func IsStale(err error) bool {
	return vimfault.KindOf(err) == vimfault.NotFound || vimfault.IsInvalidBacking(err)
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
		return findOne(ctx, c, "datacenter", l.site.datacenter, "*", find.NewFinder(c, false).DatacenterList)
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

// explain converts the finder's errors to messages that name the kind of object.
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

// NotUsableError is returned if a name does not identify exactly one usable object.
type NotUsableError = driver.NotUsableError
