// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastore

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
)

// All returns the datastores that the account can read, with name, capacity, free space and accessibility.
func All(ctx context.Context, c *vim25.Client) ([]mo.Datastore, error) {
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"Datastore"}, true)
	if err != nil {
		return nil, fmt.Errorf("listing the datastores: %w", err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	var all []mo.Datastore
	if err := v.Retrieve(ctx, []string{"Datastore"}, []string{"name", "summary.accessible", "summary.capacity", "summary.freeSpace"}, &all); err != nil {
		return nil, fmt.Errorf("listing the datastores: %w", err)
	}
	return all, nil
}
