// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// input is the input of a comparison: the desired configuration and the VM.
type input struct {
	Desired
	vm *mo.VirtualMachine
	// config is the VM's configuration. Missing parts are empty, not nil.
	config types.VirtualMachineConfigInfo
	// adopted is true for an adopted VM. Settings that the spec does not name stay unchanged.
	adopted bool
	// reservesMemory is true if vSphere requires that all memory is reserved. Differences sets it.
	reservesMemory bool
	// running is the VM's current state, desired is its desired state. Differences sets both.
	running, desired *hardware.State
}

func newInput(want Desired, vm *mo.VirtualMachine) *input {
	in := &input{Desired: want, vm: vm, adopted: isAdopted(want, vm)}
	if vm.Config != nil {
		in.config = *vm.Config
	}
	ensurePart(&in.config.CpuAllocation)
	ensurePart(&in.config.MemoryAllocation)
	ensurePart(&in.config.LatencySensitivity)
	ensurePart(&in.config.BootOptions)
	return in
}

// extra returns the current value of an extraConfig key.
func (in *input) extra(key string) string { return observe.ExtraConfig(in.vm, key) }

// exists reports whether the VM exists.
func (in *input) exists() bool { return in.vm != nil && in.vm.Config != nil }

// dropUnchanged returns the differences whose two values are not equal.
func dropUnchanged(diffs []Difference) []Difference {
	var out []Difference
	for _, d := range diffs {
		if d.Running != d.Desired {
			out = append(out, d)
		}
	}
	return out
}

// Differences compares want with vm. If vm is empty, it returns everything that want sets, for use in a create. It
// must not be called for a VM whose configuration could not be read.
func Differences(want Desired, vm *mo.VirtualMachine) []Difference {
	in := newInput(want, vm)
	var out []Difference
	out = append(out, compareIdentity(in)...)
	out = append(out, initialSettings(in)...)
	if r := want.Record; r.Text != "" {
		out = append(out, StoreRecord(vm, r))
	}
	if want.Effective == nil {
		return dropUnchanged(out)
	}
	readStates(in)
	out = append(out, compareFields(in)...)
	out = append(out, compareNetwork(in)...)
	if in.exists() {
		out = append(out, compareVolumes(in)...)
		out = append(out, recordDisks(in)...)
	}
	out = append(out, compareBootstrap(in)...)
	out = append(out, compareVApp(in)...)
	out = append(out, recordGuestSettings(in))
	out = append(out, compareMark(in))
	if out = dropUnchanged(out); len(out) > 0 && in.exists() && want.Effective.Network != nil {
		// Other changes also update the adapter record. An outdated record alone is not a reason for a
		// reconfiguration.
		out = append(out, recordAdapters(in))
	}
	return dropUnchanged(out)
}
