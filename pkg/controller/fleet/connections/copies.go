// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"fmt"

	"github.com/slipway-dev/slipway/pkg/controller/image/cache"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// copies are those that image caches have in the vCenters that this replica takes care of.
type copies struct {
	shard
	used *Manager
}

var _ cache.VCenters = copies{}

// Copies returns what copies images.
func (v *Manager) Copies() cache.VCenters { return copies{v.existing(), v} }

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
