// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphereclient

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/view"
)

// Everything reads all objects of a kind in the whole inventory.
func Everything(ctx context.Context, c *govmomi.Client, kind string, properties []string, into any) error {
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return fmt.Errorf("listing each %s: %w", kind, err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	if err := v.Retrieve(ctx, []string{kind}, properties, into); err != nil {
		return fmt.Errorf("reading each %s: %w", kind, err)
	}
	return nil
}
