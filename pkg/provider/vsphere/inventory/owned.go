// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// All returns all records in no particular order.
func (i *Inventory) All() []*mo.VirtualMachine {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]*mo.VirtualMachine, 0, len(i.vms))
	for _, vm := range i.vms {
		if vm != nil {
			out = append(out, vm)
		}
	}
	return out
}

// Owned returns the records that belong to objects. A record that cannot be read keeps its last owner.
func (i *Inventory) Owned() []driver.Owned {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []driver.Owned
	for ref, name := range i.names.names {
		if vm := i.vms[ref]; vm != nil && name.owner.UID != "" {
			out = append(out, driver.Owned{
				Key: name.owner.Key, UID: types.UID(name.owner.UID), UniqueID: ref.Value, Name: vm.Name,
				InstanceUUID: name.instanceUUID, BiosUUID: name.biosUUID, Recorded: observe.RecordHead(vm),
			})
		}
	}
	return out
}
