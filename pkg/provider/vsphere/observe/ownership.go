// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// OwnershipOf says whose vm is, as the object of owner sees it.
//
// A VM without OwnerKey whose instance UUID is the UID of the object is its own
// too: nothing else can have that UUID, so that it comes from a create of ours
// whose request vSphere carried out only in part before we died. An OwnerKey
// that cannot be read counts as that of another object.
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
