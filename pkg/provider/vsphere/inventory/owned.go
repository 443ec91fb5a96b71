// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Owned lists the records that belong to objects. One that cannot be read now belongs to
// the object that it did when it could.
func (i *Inventory) Owned() []driver.Owned {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []driver.Owned
	for ref, name := range i.names.names {
		if vm := i.vms[ref]; vm != nil && name.owner.UID != "" {
			out = append(out, driver.Owned{Key: name.owner.Key, UID: types.UID(name.owner.UID), UniqueID: ref.Value, Name: vm.Name})
		}
	}
	return out
}
