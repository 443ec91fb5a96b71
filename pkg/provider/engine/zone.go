// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Want returns the desired state of req for the check of a zone.
func Want(req *provider.Request) *driver.Want { return withOwnSpec(desiredOf(req), req.VM) }

// Offer checks a zone for the virtual machine of req and waits for the result. It fails immediately while vCenter is
// unreachable.
func (e *Engine) Offer(ctx context.Context, req *provider.Request, zone string) provider.Offer {
	if lost := e.Unreachable(); lost != nil {
		return provider.Offer{Zone: zone, Unknown: lost}
	}
	return e.driver.Offer(ctx, Want(req), zone)
}
