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

// zones are those of one vCenter, by name.
type zones struct {
	mu  sync.Mutex
	all map[string]*zone
}

// zone is one, and what is known of it.
type zone struct {
	// spec is nil for the one that the flags describe.
	spec   *vmv1alpha1.ZoneSpec
	places *placement.Resolver
	// unread is why its folder was not read with the rest of the inventory, nil if it was.
	unread error
}

// SetZones says which zones the vCenter has from now on; one without spec is described by
// the Config. What is known of those that stay as they are stays known. When there are
// other folders to be read, everything is.
func (d *Driver) SetZones(all map[string]*vmv1alpha1.ZoneSpec) {
	d.zones.mu.Lock()
	before := d.zones.folders()
	next := make(map[string]*zone, len(all))
	for name, spec := range all {
		if was := d.zones.all[name]; was != nil && equality.Semantic.DeepEqual(was.spec, spec) {
			next[name] = was
			continue
		}
		o := d.flags
		o.Name, o.Zone = name, spec
		next[name] = &zone{spec: spec, places: placement.New(o)}
	}
	d.zones.all = next
	changed := !slices.Equal(before, d.zones.folders())
	d.zones.mu.Unlock()
	if changed {
		d.inventory.Rebuild()
	}
}

// folders are the names of all folders, in order; mu is held.
func (z *zones) folders() []string {
	var out []string
	for _, one := range z.all {
		if one.spec == nil {
			out = append(out, "")
		} else {
			out = append(out, one.spec.Datacenter+"\x00"+one.spec.Folder)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// snapshot returns the zones that there are, in the order of their names.
func (z *zones) snapshot() (names []string, all map[string]*zone) {
	z.mu.Lock()
	defer z.mu.Unlock()
	all = maps.Clone(z.all)
	return slices.Sorted(maps.Keys(all)), all
}

// places resolves the names of a zone.
func (d *Driver) places(name string) *placement.Resolver {
	d.zones.mu.Lock()
	defer d.zones.mu.Unlock()
	if z := d.zones.all[name]; z != nil {
		return z.places
	}
	return placement.Unknown(d.session, name)
}

// unread is why a zone was not read with the rest, nil if it was.
func (d *Driver) unread(name string) error {
	d.zones.mu.Lock()
	defer d.zones.mu.Unlock()
	if z := d.zones.all[name]; z != nil {
		return z.unread
	}
	return fmt.Errorf("there is no Zone %q", name)
}

// invalidate forgets what is known of the places of all zones.
func (d *Driver) invalidate() {
	_, all := d.zones.snapshot()
	for _, z := range all {
		z.places.Invalidate()
	}
}

// folders are the managed folders of all zones, each once. A zone whose folder is not there
// keeps nobody from the others; it is an error only if no zone has one.
func (d *Driver) folders(ctx context.Context) ([]vimtypes.ManagedObjectReference, error) {
	names, all := d.zones.snapshot()
	var out []vimtypes.ManagedObjectReference
	var errs []error
	for _, name := range names {
		ref, _, err := all[name].places.Folder(ctx)
		var unusable *placement.NotUsableError
		if err != nil && !errors.As(err, &unusable) {
			return nil, err
		}
		d.zones.mu.Lock()
		all[name].unread = err
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

// warm resolves what the virtual machines of each zone have in common.
func (d *Driver) warm(ctx context.Context) {
	_, all := d.zones.snapshot()
	var wg sync.WaitGroup
	for _, z := range all {
		wg.Go(func() { z.places.Warm(ctx) })
	}
	wg.Wait()
}

// anyPlaces are those of one zone, the default one if it is there: for what is of the whole
// vCenter.
func (d *Driver) anyPlaces() *placement.Resolver {
	names, all := d.zones.snapshot()
	if z := all[vmv1alpha1.DefaultZone]; z != nil {
		return z.places
	}
	if len(names) == 0 {
		return placement.Unknown(d.session, vmv1alpha1.DefaultZone)
	}
	return all[names[0]].places
}

// creator makes virtual machines in a zone.
func (d *Driver) creator(zone string) *create.Creator {
	return &create.Creator{Actor: d.actor, Places: d.places(zone), Descriptors: d.descriptors}
}

// Keep keeps the connection until ctx is done, and logs out: for a Driver that is asked what
// zones have, and otherwise knows and does nothing. Run does the same and more.
func (d *Driver) Keep(ctx context.Context) {
	d.session.Run(ctx)
	d.session.Close()
}

// Zone says what is seen of a zone now, by what was read a moment ago. A folder that was
// not there is looked for again, and then read with the rest.
func (d *Driver) Zone(ctx context.Context, name string) provider.ZoneState {
	places := d.places(name)
	s := provider.ZoneState{Trouble: places.Missing(ctx)}
	if d.unread(name) != nil {
		if _, _, err := places.Folder(ctx); err == nil {
			d.inventory.Rebuild()
		}
	}
	has, err := places.Amounts(ctx)
	if err != nil {
		s.Trouble = errors.Join(s.Trouble, err)
		return s
	}
	s.Read, s.Capacity, s.Free, s.Hosts = true, has.Capacity, has.Free, has.Hosts
	if has.Hosts == 0 {
		s.Trouble = errors.Join(s.Trouble, errors.New("no host of it can run virtual machines now"))
	}
	return s
}
