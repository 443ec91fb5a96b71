// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"

	"github.com/slipway-dev/slipway/pkg/controller/image/cache"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// copies gives access to the image copies in the vCenters that this replica manages.
type copies struct {
	shard
	used *Manager
}

var _ cache.VCenters = copies{}

// Copies returns the vCenters for the image cache controller.
func (v *Manager) Copies() cache.VCenters { return copies{v.existing(), v} }

// files reads and changes the copies in one vCenter.
type files struct {
	provider.ImageFiles
	provider.ImageOperator
}

// Files implements cache.VCenters.
func (c copies) Files(vcenter string) (cache.Files, error) {
	if !c.used.zones.hasVCenter(vcenter) {
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("there is no VCenter %q", vcenter), Missing: true}
	}
	members, _ := c.used.fleet.Members()
	if m := members[vcenter]; m != nil {
		return files{m.driver.ImageFiles(), m.Engine}, nil
	}
	return nil, fmt.Errorf("%w: VCenter %q", provider.ErrNotInUse, vcenter)
}

// Hints implements cache.VCenters.
func (c copies) Hints(ctx context.Context, changed func(provider.Event)) {
	c.used.fleet.Watch(ctx, changed)
}
