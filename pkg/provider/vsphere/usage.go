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

// Usage is what a virtual machine uses.
type Usage = inventory.Usage

// Usage reads what the virtual machines of objects use now, by the objects' names.
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
