// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"

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

// Homes are all datastores that virtual machines of the zone may be made on.
func (r *Resolver) Homes(ctx context.Context) ([]datastore.Place, error) {
	refs, err := r.storeRefs(ctx)
	if err != nil {
		return nil, err
	}
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
