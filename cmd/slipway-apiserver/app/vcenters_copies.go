// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-dev/slipway/pkg/controller/image/cache"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// copies are those that image caches have in the vCenters that this replica takes care of.
type copies struct{ used *vcenters }

var _ cache.VCenters = copies{}

// Bind implements virtualmachineimagecache.VCenters.
func (c copies) Bind(ctx context.Context, vcenter string) (context.Context, error) {
	if vcenter == "" || !c.used.zones.hasVCenter(vcenter) {
		return c.used.deps.leases.Bind(ctx, controllersLease)
	}
	return c.used.deps.leases.Bind(ctx, leaseOf(vcenter))
}

// Files implements virtualmachineimagecache.VCenters.
func (c copies) Files(vcenter string) (provider.ImageFiles, error) {
	if !c.used.zones.hasVCenter(vcenter) {
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("there is no VCenter %q", vcenter), Missing: true}
	}
	members, _ := c.used.fleet.Members()
	if m := members[vcenter]; m != nil {
		return m.driver.ImageFiles(), nil
	}
	return nil, fmt.Errorf("%w: VCenter %q", provider.ErrNotInUse, vcenter)
}

// Watch implements virtualmachineimagecache.VCenters.
func (c copies) Watch(ctx context.Context, gained func(vcenter string)) {
	c.used.deps.leases.Watch(ctx, func(lease string) {
		if name, ok := strings.CutPrefix(lease, vcenterLease); ok {
			gained(name)
		} else if lease == controllersLease {
			gained("")
		}
	})
}
