// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Want is what req asks for.
func Want(req *provider.Request) *driver.Want { return want(req) }

// Offer asks what a zone has for the virtual machine of req, and waits for the answer.
func (e *Engine) Offer(ctx context.Context, req *provider.Request, zone string) provider.Offer {
	return e.driver.Offer(ctx, want(req), zone)
}
