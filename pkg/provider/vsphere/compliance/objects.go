// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package compliance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// DiskKey returns a disk's key in the storage policy service (API, PbmServerObjectRef.key).
func DiskKey(vm *mo.VirtualMachine, disk *types.VirtualDisk) string {
	return fmt.Sprintf("%s:%d", vm.Self.Value, disk.Key)
}

// Objects returns the parts of a virtual machine that have a recorded policy.
func Objects(vm *mo.VirtualMachine) []pbmtypes.PbmServerObjectRef {
	var out []pbmtypes.PbmServerObjectRef
	if observe.ExtraConfig(vm, observe.HomePolicyKey) != "" {
		out = append(out, pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualMachine), Key: vm.Self.Value})
	}
	add := func(disk *types.VirtualDisk, policyKey string) {
		if disk != nil && observe.ExtraConfig(vm, policyKey) != "" {
			out = append(out, pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualDiskId), Key: DiskKey(vm, disk)})
		}
	}
	boot, _ := observe.BootDisk(vm)
	add(boot, observe.BootDiskPolicyKey)
	volumes := observe.Volumes(vm)
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		add(volumes[name], observe.PolicyKey(name))
	}
	return out
}

// Signature returns a string that changes with the recorded policies of a virtual machine. It is empty if no policy
// is recorded.
func Signature(vm *mo.VirtualMachine) string {
	if vm == nil || vm.Config == nil {
		return ""
	}
	var out []string
	for _, o := range vm.Config.ExtraConfig {
		v := o.GetOptionValue()
		_, recorded := observe.CutKey(v.Key, observe.PolicyPrefix)
		if s, ok := v.Value.(string); ok && s != "" && recorded {
			out = append(out, v.Key+"="+s)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
