// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
)

// DescribeTemplate implements provider.Images.
func (c *Catalogue) DescribeTemplate(ctx context.Context, inventoryPath string) (*provider.ImageDescription, error) {
	source, err := c.Places().Template(ctx, inventoryPath)
	if err != nil {
		return nil, err
	}
	client, err := c.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	pc := property.DefaultCollector(client)
	if err := pc.RetrieveOne(ctx, source.Template, []string{"config", "summary.storage", "network"}, &vm); err != nil {
		return nil, fmt.Errorf("reading template %s: %w", inventoryPath, err)
	}
	var networks []mo.ManagedEntity
	if len(vm.Network) > 0 {
		if err := pc.Retrieve(ctx, vm.Network, []string{"name"}, &networks); err != nil {
			return nil, fmt.Errorf("reading the networks of template %s: %w", inventoryPath, err)
		}
	}
	names := map[string]string{}
	for _, n := range networks {
		names[n.Self.Value] = n.Name
	}
	if vm.Config == nil {
		return nil, fmt.Errorf("reading template %s: vSphere shows no configuration of it", inventoryPath)
	}
	out := descriptor.OfTemplate(vm.Config, names)
	out.Status.ProviderItemID = source.Template.Value
	if s := vm.Summary.Storage; s != nil {
		out.Status.ContentSize = descriptor.Amount(s.Committed)
	}
	return &out, nil
}
