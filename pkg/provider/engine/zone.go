// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// DesiredOf returns the desired state of req for the check of a zone.
func DesiredOf(req *provider.Request) *driver.Desired { return withOwnSpec(desiredOf(req), req.VM) }

// CheckZone checks a zone for the virtual machine of req and waits for the result. It fails immediately while vCenter is
// unreachable.
func (e *Engine) CheckZone(ctx context.Context, req *provider.Request, zone string) provider.ZoneCheck {
	if outage := e.Unreachable(); outage != nil {
		return provider.ZoneCheck{Zone: zone, CheckErr: outage}
	}
	return e.driver.CheckZone(ctx, DesiredOf(req), zone)
}
