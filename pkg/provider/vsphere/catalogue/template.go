// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
)

// DescribeTemplate implements provider.Images.
func (c *Catalogue) DescribeTemplate(ctx context.Context, inventoryPath string) (*provider.ImageDescription, error) {
	source, err := c.Placement().Template(ctx, inventoryPath)
	if err != nil {
		return nil, err
	}
	return c.describe(ctx, source.Template)
}

// describeItemTemplate describes the template of a library item.
func (c *Catalogue) describeItemTemplate(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource, item provider.LibraryItem) (*provider.ImageDescription, error) {
	source, err := c.Placement().ItemTemplate(ctx, from, item.ID)
	if err != nil {
		return nil, err
	}
	out, err := c.describe(ctx, source.Template)
	if err != nil {
		return nil, err
	}
	out.Status.Type, out.Status.ProviderItemID, out.Status.ContentVersion = vmv1alpha1.ImageTypeVMTX, item.ID, item.ContentVersion
	return out, nil
}

func (c *Catalogue) describe(ctx context.Context, template types.ManagedObjectReference) (*provider.ImageDescription, error) {
	client, err := c.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	pc := property.DefaultCollector(client)
	if err := pc.RetrieveOne(ctx, template, []string{"config", "summary.storage", "network"}, &vm); err != nil {
		return nil, fmt.Errorf("reading template %s: %w", template.Value, err)
	}
	var networks []mo.ManagedEntity
	if len(vm.Network) > 0 {
		if err := pc.Retrieve(ctx, vm.Network, []string{"name"}, &networks); err != nil {
			return nil, fmt.Errorf("reading the networks of template %s: %w", template.Value, err)
		}
	}
	names := map[string]string{}
	for _, n := range networks {
		names[n.Self.Value] = n.Name
	}
	if vm.Config == nil {
		return nil, fmt.Errorf("reading template %s: vSphere returned no configuration", template.Value)
	}
	out := descriptor.DescribeTemplate(vm.Config, names)
	if err := c.checkHardware(ctx, out.Status.HardwareVersion); err != nil {
		return nil, err
	}
	out.Status.ProviderItemID = template.Value
	if s := vm.Summary.Storage; s != nil {
		out.Status.ContentSize = descriptor.ByteQuantity(s.Committed)
	}
	return &out, nil
}
