// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/console"
)

// Console requests a ticket for the console of a virtual machine, which must be powered on. It does
// not use the inventory, so that replicas that do not read the inventory can call it too.
func (d *Driver) Console(ctx context.Context, id driver.Identity) (*provider.Console, error) {
	m, err := d.consoleMachine(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.Ticket(ctx)
}

// Screenshot returns a screenshot of the console of a virtual machine, which must be powered on. It is
// a PNG.
func (d *Driver) Screenshot(ctx context.Context, id driver.Identity) ([]byte, error) {
	m, err := d.consoleMachine(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.Screenshot(ctx)
}

func (d *Driver) consoleMachine(ctx context.Context, id driver.Identity) (*console.Machine, error) {
	found, err := d.newCreator(id.Zone).LookUp(ctx, namesOf(id), ownerOf(id))
	if err != nil {
		return nil, err
	}
	return &console.Machine{Session: d.session, Ref: found.VM, Owner: ownerOf(id)}, nil
}
