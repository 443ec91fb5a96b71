// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// findInOthers returns a function that searches all vCenters except the named one for a VM with an identity. It returns an error
// if a vCenter cannot be searched.
func (v *Manager) findInOthers(name string) func(context.Context, driver.Identity) (string, error) {
	return func(ctx context.Context, id driver.Identity) (string, error) {
		if !v.zones.known() {
			return "", fmt.Errorf("%w: the list of VCenters is not read yet", provider.ErrNotInUse)
		}
		for _, other := range v.zones.vcenterNames() {
			if other == name {
				continue
			}
			d, err := v.readOnlyDriver(ctx, other)
			if err != nil {
				return "", fmt.Errorf("vCenter %q may have the VM: %w", other, err)
			}
			shown, err := d.FindMigrated(ctx, id)
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
