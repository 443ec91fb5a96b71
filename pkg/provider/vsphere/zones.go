// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/equality"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// zones are the zones of one vCenter, by name.
type zones struct {
	mu  sync.Mutex
	all map[string]*zone
}

// zone is a zone and its resolved objects.
type zone struct {
	// spec is nil for the zone that the flags specify.
	spec     *vmv1alpha1.ZoneSpec
	resolver *placement.Resolver
	// readErr is the reason why the zone's folder was not read with the inventory. It is nil if the
	// folder was read.
	readErr error
}

// SetZones replaces the zones of the vCenter. A nil spec means the zone that the Config specifies.
// Resolved objects of unchanged zones are retained. If the set of folders changes, the whole
// inventory is read again.
func (d *Driver) SetZones(all map[string]*vmv1alpha1.ZoneSpec) {
	d.zones.mu.Lock()
	before := d.zones.folders()
	next := make(map[string]*zone, len(all))
	for name, spec := range all {
		if previous := d.zones.all[name]; previous != nil && equality.Semantic.DeepEqual(previous.spec, spec) {
			next[name] = previous
			continue
		}
		o := d.defaultZone
		o.Name, o.Zone = name, spec
		next[name] = &zone{spec: spec, resolver: placement.New(o)}
	}
	d.zones.all = next
	changed := !slices.Equal(before, d.zones.folders())
	d.zones.mu.Unlock()
	if changed {
		d.inventory.Rebuild()
	}
}

// folders returns the sorted names of all folders. The caller holds mu.
func (z *zones) folders() []string {
	var out []string
	for _, zone := range z.all {
		if zone.spec == nil {
			out = append(out, "")
		} else {
			out = append(out, zone.spec.Datacenter+"\x00"+zone.spec.Folder)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// snapshot returns the present zones and their sorted names.
func (z *zones) snapshot() (names []string, all map[string]*zone) {
	z.mu.Lock()
	defer z.mu.Unlock()
	all = maps.Clone(z.all)
	return slices.Sorted(maps.Keys(all)), all
}

// resolver returns the resolver of a zone.
func (d *Driver) resolver(name string) *placement.Resolver {
	d.zones.mu.Lock()
	defer d.zones.mu.Unlock()
	if z := d.zones.all[name]; z != nil {
		return z.resolver
	}
	return placement.NewUnknown(d.session, name)
}

// zoneReadError returns the reason why a zone was not read with the inventory, or nil if it was read.
func (d *Driver) zoneReadError(name string) error {
	d.zones.mu.Lock()
	defer d.zones.mu.Unlock()
	if z := d.zones.all[name]; z != nil {
		return z.readErr
	}
	return fmt.Errorf("there is no Zone %q", name)
}

// invalidate discards the resolved objects of all zones.
func (d *Driver) invalidate() {
	_, all := d.zones.snapshot()
	for _, z := range all {
		z.resolver.Invalidate()
	}
}

// folders returns the managed folders of all zones, without duplicates. A zone without its folder
// does not affect the other zones. It is an error only if no zone has a folder.
func (d *Driver) folders(ctx context.Context) ([]vimtypes.ManagedObjectReference, error) {
	names, all := d.zones.snapshot()
	var out []vimtypes.ManagedObjectReference
	var errs []error
	for _, name := range names {
		ref, _, err := all[name].resolver.Folder(ctx)
		var notUsable *placement.NotUsableError
		if err != nil && !errors.As(err, &notUsable) {
			return nil, err
		}
		d.zones.mu.Lock()
		all[name].readErr = err
		d.zones.mu.Unlock()
		if err != nil {
			errs = append(errs, fmt.Errorf("zone %s: %w", name, err))
		} else if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	if len(out) == 0 && len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// warmResolvers resolves the objects that the virtual machines of each zone share.
func (d *Driver) warmResolvers(ctx context.Context) {
	_, all := d.zones.snapshot()
	var wg sync.WaitGroup
	for _, z := range all {
		wg.Go(func() { z.resolver.Warm(ctx) })
	}
	wg.Wait()
}

// anyResolver returns the resolver of the default zone, or of another zone if the default zone does
// not exist. It is used for objects of the whole vCenter.
func (d *Driver) anyResolver() *placement.Resolver {
	names, all := d.zones.snapshot()
	if z := all[vmv1alpha1.DefaultZone]; z != nil {
		return z.resolver
	}
	if len(names) == 0 {
		return placement.NewUnknown(d.session, vmv1alpha1.DefaultZone)
	}
	return all[names[0]].resolver
}

// newCreator returns the creator of virtual machines in a zone.
func (d *Driver) newCreator(zone string) *create.Creator {
	return &create.Creator{Actor: d.actor, Placement: d.resolver(zone), Descriptors: d.descriptors}
}

// KeepConnection maintains the connection until ctx is done, and logs out. It is an alternative to Run for a
// Driver that only answers queries about zones.
func (d *Driver) KeepConnection(ctx context.Context) {
	d.session.Run(ctx)
	d.session.Close()
}

// ZoneState returns the current state of a zone. It may use cached results. If the
// zone's folder was missing and exists now, the inventory is read again.
func (d *Driver) ZoneState(ctx context.Context, name string) provider.ZoneState {
	resolver := d.resolver(name)
	s := provider.ZoneState{Trouble: resolver.Missing(ctx)}
	if d.zoneReadError(name) != nil {
		if _, _, err := resolver.Folder(ctx); err == nil {
			d.inventory.Rebuild()
		}
	}
	amounts, err := resolver.Amounts(ctx)
	if err != nil {
		s.Trouble = errors.Join(s.Trouble, err)
		return s
	}
	s.Read, s.Capacity, s.Free, s.Hosts = true, amounts.Capacity, amounts.Free, amounts.Hosts
	if amounts.Hosts == 0 {
		s.Trouble = errors.Join(s.Trouble, errors.New("no host can currently run virtual machines"))
	}
	return s
}
