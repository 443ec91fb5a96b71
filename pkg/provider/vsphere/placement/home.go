// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
)

// Home says what is known of a datastore of the zone.
func (r *Resolver) Home(ctx context.Context, ref types.ManagedObjectReference) (datastore.Place, error) {
	_, dc, _, err := r.finder(ctx)
	if err != nil {
		return datastore.Place{}, err
	}
	return r.homes.get(ctx, ref.Value, func(ctx context.Context) (datastore.Place, error) {
		return datastore.Locate(ctx, r.opts.Session, dc.Reference(), ref)
	})
}

// Homes are all datastores that virtual machines of the zone may be made on. While a name does
// not lead to one they are all that its hosts see: nobody knows which of them it was.
func (r *Resolver) Homes(ctx context.Context) ([]datastore.Place, error) {
	refs, err := r.storeRefs(ctx)
	if isMissing(err) {
		refs, err = r.seenDatastores(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.homesAt(ctx, refs)
}

// HomesNamed are the datastores of the name that virtual machines of the zone may be made on,
// or else those that the account and the hosts of the zone see: the zone may have named others
// before.
func (r *Resolver) HomesNamed(ctx context.Context, name string) ([]datastore.Place, error) {
	homes, err := r.Homes(ctx)
	homes = slices.DeleteFunc(homes, func(p datastore.Place) bool { return p.Name != name })
	if err != nil || len(homes) > 0 {
		return homes, err
	}
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := r.seenDatastores(ctx)
	if err != nil {
		return nil, err
	}
	all, err := datastore.All(ctx, c)
	if err != nil {
		return nil, err
	}
	var named []types.ManagedObjectReference
	for i := range all {
		// Another datacenter may have one of that name, too.
		if all[i].Name == name && slices.Contains(seen, all[i].Self) {
			named = append(named, all[i].Self)
		}
	}
	return r.homesAt(ctx, named)
}

func (r *Resolver) homesAt(ctx context.Context, refs []types.ManagedObjectReference) ([]datastore.Place, error) {
	out := make([]datastore.Place, 0, len(refs))
	for _, ref := range refs {
		home, err := r.Home(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, home)
	}
	return out, nil
}
