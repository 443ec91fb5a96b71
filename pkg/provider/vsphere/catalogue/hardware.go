// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// hardwareAge is how long the newest hardware version of the hosts is cached. It is checked again only for an image
// with a newer version, because hosts may have been upgraded.
const hardwareAge = 5 * time.Minute

// checkHardware returns a NotUsableError if no host of the vCenter supports the hardware version. The version 0 means
// that the image does not specify a version.
func (c *Catalogue) checkHardware(ctx context.Context, version int32) error {
	c.mu.Lock()
	newest, at := c.newest, c.newestAt
	c.mu.Unlock()
	if version <= newest {
		return nil
	}
	if newest == 0 || time.Since(at) > hardwareAge {
		var err error
		if newest, err = c.newestHardware(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		c.newest, c.newestAt = newest, time.Now()
		c.mu.Unlock()
	}
	// If the account cannot see the hosts, their versions are not known.
	if newest == 0 || version <= newest {
		return nil
	}
	return &provider.NotUsableError{Message: fmt.Sprintf(
		"the image has hardware version %d, but the hosts of this vCenter support at most %d: export the image with an older version or upgrade the hosts", version, newest)}
}

// newestHardware returns the newest hardware version of the hosts, or 0 if the account cannot see a host. Clusters
// and standalone hosts list their supported versions (vSphere API, EnvironmentBrowser.QueryConfigOptionDescriptor).
func (c *Catalogue) newestHardware(ctx context.Context) (newest int32, err error) {
	client, err := c.Session.Vim(ctx)
	if err != nil {
		return 0, err
	}
	v, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"ComputeResource"}, true)
	if err != nil {
		return 0, fmt.Errorf("listing the clusters: %w", err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	var clusters []mo.ComputeResource
	if err := v.Retrieve(ctx, []string{"ComputeResource"}, []string{"environmentBrowser"}, &clusters); err != nil {
		return 0, fmt.Errorf("reading the clusters: %w", err)
	}
	for i := range clusters {
		if clusters[i].EnvironmentBrowser == nil {
			continue
		}
		versions, err := object.NewEnvironmentBrowser(client, *clusters[i].EnvironmentBrowser).QueryConfigOptionDescriptor(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the hosts' hardware versions: %w", err)
		}
		for n := range versions {
			if versions[n].RunSupported {
				newest = max(newest, observe.HardwareVersion(versions[n].Key))
			}
		}
	}
	return newest, nil
}
