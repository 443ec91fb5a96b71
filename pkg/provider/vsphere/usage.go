// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
)

// Usage is the resource usage of a virtual machine.
type Usage = inventory.Usage

// Usage reads the current resource usage of the objects' virtual machines, by name of the object.
func (d *Driver) Usage(ctx context.Context) (map[k8stypes.NamespacedName]Usage, error) {
	keys := map[types.ManagedObjectReference]k8stypes.NamespacedName{}
	for _, o := range d.inventory.Owned() {
		keys[types.ManagedObjectReference{Type: "VirtualMachine", Value: o.UniqueID}] = o.Key
	}
	read, err := inventory.ReadUsage(ctx, d.session, slices.Collect(maps.Keys(keys)))
	out := make(map[k8stypes.NamespacedName]Usage, len(read))
	for ref, u := range read {
		out[keys[ref]] = u
	}
	return out, err
}
