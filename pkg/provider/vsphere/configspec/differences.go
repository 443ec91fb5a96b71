// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// input is what a comparison reads: the desired configuration and the VM. It is not changed.
type input struct {
	Want
	vm *mo.VirtualMachine
	// have is the configuration of the VM. It is empty if the VM does not exist.
	have *types.VirtualMachineConfigInfo
	// adopted is true for a VM that was adopted: what the spec does not name stays.
	adopted bool
}

func newInput(want Want, vm *mo.VirtualMachine) *input {
	in := &input{Want: want, vm: vm, have: vm.Config}
	if in.have == nil {
		in.have = &types.VirtualMachineConfigInfo{}
	}
	in.adopted = adopted(want, vm)
	return in
}

// extra returns the present value of a key of extraConfig.
func (in *input) extra(key string) string { return observe.ExtraConfig(in.vm, key) }

// exists reports whether the VM exists.
func (in *input) exists() bool { return in.vm != nil && in.vm.Config != nil }

// list has differences.
type list []Difference

// add appends the differences whose two values are not equal.
func (l *list) add(diffs ...Difference) {
	for _, d := range diffs {
		if d.Running != d.Desired {
			*l = append(*l, d)
		}
	}
}

// Differences compares want with vm. An empty vm gives everything that want
// sets, which is what a create needs. A VM whose configuration could not be
// read must not be passed.
func Differences(want Want, vm *mo.VirtualMachine) []Difference {
	in := newInput(want, vm)
	var out list
	out.add(compareIdentity(in)...)
	out.add(setOnce(in)...)
	if r := want.Record; r.Text != "" {
		out.add(Keep(vm, r))
	}
	if want.Effective == nil {
		return out
	}
	have, desired := states(in)
	out.add(compareFields(in, have, desired)...)
	out.add(compareNetwork(in, have, desired)...)
	if in.exists() {
		out.add(compareVolumes(in)...)
		out.add(recordDisks(in)...)
	}
	out.add(compareBootstrap(in)...)
	out.add(compareVApp(in)...)
	out.add(compareMark(in))
	if len(out) > 0 && in.exists() && want.Effective.Network != nil {
		// The record of the adapters is brought up to date with other changes: it is no reason for one.
		out.add(recordAdapters(in))
	}
	return out
}

// compareIdentity compares the name of the VM and the marks that identify its object.
func compareIdentity(in *input) []Difference {
	var out list
	if in.Name != "" && !in.adopted {
		out.add(Difference{Path: "metadata.name", Running: in.vm.Name, Desired: in.Name, Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.Name = in.Name }})
	}
	if in.InstanceUUID != "" {
		out.add(Difference{Path: "instanceUUID", Running: lower(in.have.InstanceUuid), Desired: lower(in.InstanceUUID), Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.InstanceUuid = lower(in.InstanceUUID) }})
	}
	out.add(compareOption(in, "metadata.uid", ownerKey, in.Owner.String(), true, false))
	if in.adopted {
		out.add(compareOption(in, "metadata.uid", observe.AdoptedKey, in.Owner.UID, true, false))
	}
	if !in.LastRestart.IsZero() {
		out.add(compareOption(in, "nextRestartTime", lastRestartKey, in.LastRestart.UTC().Format(restartFormat), true, true))
	}
	return out
}

// version parses vmx-NN; 0 when it is something else.
func version(s string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "vmx-"), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
