// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// copiesBut searches all vCenters but the one of a name for VMs with the identity of another.
// Not to know of one vCenter is an error.
func (v *Manager) copiesBut(name string) func(context.Context, driver.Identity) (string, error) {
	return func(ctx context.Context, id driver.Identity) (string, error) {
		if !v.zones.known() {
			return "", fmt.Errorf("%w: the VCenters are not read yet", provider.ErrNotInUse)
		}
		for _, other := range v.zones.vcenterNames() {
			if other == name {
				continue
			}
			d, err := v.asking(ctx, other)
			if err != nil {
				return "", fmt.Errorf("vCenter %q may have the VM: %w", other, err)
			}
			shown, err := d.Shows(ctx, id)
			if err != nil {
				return "", fmt.Errorf("vCenter %q may have the VM: %w", other, err)
			}
			if shown != "" {
				return fmt.Sprintf("%s in vCenter %q", shown, other), nil
			}
		}
		return "", nil
	}
}
