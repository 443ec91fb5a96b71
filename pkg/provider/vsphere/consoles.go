// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/console"
)

// Console gives a ticket for the console of a virtual machine, which has to run. Like
// Picture it takes no memory of what vCenter has, so that who only asks can do it too.
func (d *Driver) Console(ctx context.Context, id driver.Identity) (*provider.Console, error) {
	m, err := d.shown(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.Ticket(ctx)
}

// Picture gives a PNG of the console of a virtual machine, which has to run.
func (d *Driver) Picture(ctx context.Context, id driver.Identity) ([]byte, error) {
	m, err := d.shown(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.Picture(ctx)
}

func (d *Driver) shown(ctx context.Context, id driver.Identity) (*console.Machine, error) {
	seen, err := d.creator(id.Zone).LookUp(ctx, namesOf(id), ownerOf(id))
	if err != nil {
		return nil, err
	}
	return &console.Machine{Session: d.session, Ref: seen.VM, Owner: ownerOf(id)}, nil
}
