// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// OwnershipOf returns vm's ownership from the view of the object of owner.
//
// A VM without OwnerKey is the object's own if its instance UUID is the object's UID. It results from a create
// request that vSphere applied only in part. A VM with an invalid OwnerKey is Foreign.
func OwnershipOf(vm *mo.VirtualMachine, owner Owner) driver.Ownership {
	if ExtraConfig(vm, OwnerKey) != "" {
		if o, ok := OwnerOf(vm); ok && o.UID == owner.UID {
			return driver.Own
		}
		return driver.Foreign
	}
	if vm != nil && vm.Config != nil && owner.UID != "" && strings.EqualFold(vm.Config.InstanceUuid, owner.UID) {
		return driver.Own
	}
	return driver.Unowned
}
