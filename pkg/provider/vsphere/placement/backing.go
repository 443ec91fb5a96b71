// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// nsxSegment is the type of opaque networks that are segments of NSX.
const nsxSegment = "nsx.LogicalSwitch"

// connect is what an adapter on a network is backed by: a standard port group by its name, a
// distributed one by its key and that of its switch, an opaque network by its ID and type.
// Which VLANs a trunk carries, and whether ports are left, the port group alone says.
func connect(ctx context.Context, c *vim25.Client, dc *object.Datacenter, name string, network object.NetworkReference) (types.BaseVirtualDeviceBackingInfo, error) {
	switch n := network.(type) {
	case *object.DistributedVirtualSwitch:
		return nil, &NotUsableError{Message: fmt.Sprintf("network %q is a distributed switch: name one of its port groups", name)}
	case *object.DistributedVirtualPortgroup:
		var group mo.DistributedVirtualPortgroup
		if err := n.Properties(ctx, n.Reference(), []string{"config.uplink"}, &group); err != nil {
			return nil, fmt.Errorf("reading network %q: %w", name, err)
		}
		if group.Config.Uplink != nil && *group.Config.Uplink {
			return nil, &NotUsableError{Message: fmt.Sprintf("network %q has the uplinks of its switch, and no virtual machine can be connected to it", name)}
		}
	case *object.OpaqueNetwork:
		summary, err := n.Summary(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading network %q: %w", name, err)
		}
		group, err := groupOfSegment(ctx, c, dc, summary)
		if err != nil {
			return nil, fmt.Errorf("looking for the port group of network %q: %w", name, err)
		}
		if group != nil {
			network = group
		}
	}
	b, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading network %q: %w", name, err)
	}
	return b, nil
}

// groupOfSegment returns the distributed port group that a segment of NSX has on a vSphere
// switch; nil if it has none. vSphere connects an adapter to that when it is asked for the
// segment, and shows it (govmomi's simulator does the same), so that asking for the segment
// would never seem done.
func groupOfSegment(ctx context.Context, c *vim25.Client, dc *object.Datacenter, summary *types.OpaqueNetworkSummary) (object.NetworkReference, error) {
	if summary.OpaqueNetworkType != nsxSegment {
		return nil, nil
	}
	var at mo.Datacenter
	if err := dc.Properties(ctx, dc.Reference(), []string{"network"}, &at); err != nil {
		return nil, err
	}
	var refs []types.ManagedObjectReference
	for _, ref := range at.Network {
		if ref.Type == "DistributedVirtualPortgroup" {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	var groups []mo.DistributedVirtualPortgroup
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, []string{"config.logicalSwitchUuid"}, &groups); err != nil {
		return nil, err
	}
	for i := range groups {
		if groups[i].Config.LogicalSwitchUuid == summary.OpaqueNetworkId {
			return object.NewDistributedVirtualPortgroup(c, groups[i].Self), nil
		}
	}
	return nil, nil
}
