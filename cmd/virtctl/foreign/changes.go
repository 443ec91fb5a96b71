// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// unborn is the UID of an object that does not exist yet.
const unborn = "00000000-0000-0000-0000-000000000000"

// Changes returns the fields of the VM that obj would change, with old and new values. obj may be the result of a
// dry run. Ownership marks are not included. The error reports settings of obj that the VM does not support.
func (c *Candidate) Changes(obj *vmv1alpha1.VirtualMachine) ([]string, error) {
	effective, err := apply.Effective(obj, apply.Inputs{})
	if err != nil {
		return nil, fmt.Errorf("the size: %w", err)
	}
	want := configspec.DesiredOf(observe.Owner{Key: provider.KeyOf(obj).NamespacedName, UID: unborn}, obj.Spec.InstanceUUID, effective)
	want.NetworkBackings = c.backings(effective)
	if refused := configspec.Refused(want, c.VM).Invalid; len(refused) > 0 {
		return nil, fmt.Errorf("the VM does not support the manifest: %q", refused)
	}
	changes := map[string]string{}
	for _, d := range configspec.Differences(want, c.VM) {
		if !d.IsMetadata() {
			changes[d.Path] = fmt.Sprintf("%s: %q becomes %q", d.Path, d.Running, d.Desired)
		}
	}
	return slices.Sorted(maps.Values(changes)), nil
}

// backings returns the backings of the network adapters by the names of their networks.
func (c *Candidate) backings(effective *vmv1alpha1.VirtualMachineInstanceSpec) map[string]types.BaseVirtualDeviceBackingInfo {
	out := map[string]types.BaseVirtualDeviceBackingInfo{}
	if effective.Network == nil {
		return out
	}
	for n, card := range observe.Assign(c.VM, effective.Network.Interfaces, nil).Cards {
		if card != nil {
			out[effective.Network.Interfaces[n].Network] = card.GetVirtualEthernetCard().Backing
		}
	}
	return out
}
