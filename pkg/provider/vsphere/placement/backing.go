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

// nsxSegment is the type of opaque networks that are NSX segments.
const nsxSegment = "nsx.LogicalSwitch"

// backingOf returns the backing of an adapter on a network: the name of a standard port group, the key of a
// distributed port group and of its switch, or the ID and type of an opaque network. The port group itself defines
// the VLANs and the number of ports.
func backingOf(ctx context.Context, c *vim25.Client, dc *object.Datacenter, name string, network object.NetworkReference) (types.BaseVirtualDeviceBackingInfo, error) {
	switch n := network.(type) {
	case *object.DistributedVirtualSwitch:
		return nil, &NotUsableError{Message: fmt.Sprintf("network %q is a distributed switch: specify one of its port groups", name)}
	case *object.DistributedVirtualPortgroup:
		var group mo.DistributedVirtualPortgroup
		if err := n.Properties(ctx, n.Reference(), []string{"config.uplink"}, &group); err != nil {
			return nil, fmt.Errorf("reading network %q: %w", name, err)
		}
		if group.Config.Uplink != nil && *group.Config.Uplink {
			return nil, &NotUsableError{Message: fmt.Sprintf("network %q is an uplink port group, which virtual machines cannot use", name)}
		}
	case *object.OpaqueNetwork:
		summary, err := n.Summary(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading network %q: %w", name, err)
		}
		group, err := groupOfSegment(ctx, c, dc, summary)
		if err != nil {
			return nil, fmt.Errorf("finding the port group of network %q: %w", name, err)
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

// groupOfSegment returns an NSX segment's distributed port group on a vSphere switch, or nil. If an adapter
// requests such a segment, vSphere connects it to the port group and reports the port group (like govmomi's
// simulator). A comparison with the segment would therefore always differ.
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
