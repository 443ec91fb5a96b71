// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// images asks the vCenter that virtual machines go to for what they are made from.
type images struct{ vcenters *vcenters }

var _ provider.Images = images{}

// used is that vCenter.
func (i images) used() (provider.Images, error) {
	members, _ := i.vcenters.fleet.Members()
	if m := members[vmv1alpha1.DefaultVCenter]; m != nil {
		return m.driver.Images(), nil
	}
	return nil, provider.ErrNotInUse
}

// Items implements provider.Images.
func (i images) Items(ctx context.Context, library string) ([]provider.LibraryItem, error) {
	used, err := i.used()
	if err != nil {
		return nil, err
	}
	return used.Items(ctx, library)
}

// DescribeItem implements provider.Images.
func (i images) DescribeItem(ctx context.Context, item provider.LibraryItem) (*provider.ImageDescription, error) {
	used, err := i.used()
	if err != nil {
		return nil, err
	}
	return used.DescribeItem(ctx, item)
}

// DescribeTemplate implements provider.Images.
func (i images) DescribeTemplate(ctx context.Context, inventoryPath string) (*provider.ImageDescription, error) {
	used, err := i.used()
	if err != nil {
		return nil, err
	}
	return used.DescribeTemplate(ctx, inventoryPath)
}
