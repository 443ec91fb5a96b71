// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// comparison collects differences.
type comparison struct {
	want Want
	have *types.VirtualMachineConfigInfo
	vm   *mo.VirtualMachine
	out  []Difference
	// cpuWaits and memoryWaits are true when the size cannot change while the
	// VM runs, so that what depends on it has to wait too.
	cpuWaits, memoryWaits bool
	// adopted is true for a VM that was somebody else's: what the spec does not
	// name stays.
	adopted bool
}

func newComparison(want Want, vm *mo.VirtualMachine) *comparison {
	c := &comparison{want: want, have: vm.Config, vm: vm}
	if c.have == nil {
		c.have = &types.VirtualMachineConfigInfo{}
	}
	c.adopted = adopted(want, vm)
	return c
}

// Differences compares want with vm. An empty vm gives everything that want
// sets, which is what a create needs. A VM whose configuration could not be
// read must not be passed.
func Differences(want Want, vm *mo.VirtualMachine) []Difference {
	c := newComparison(want, vm)
	c.identity()
	c.once()
	c.record()
	if want.Effective == nil {
		return c.out
	}
	if want.Effective.CPU != nil {
		c.cpu()
	}
	if want.Effective.Memory != nil {
		c.memory()
	}
	c.allocations()
	c.firmware()
	c.network()
	c.home()
	c.bootDisk()
	c.volumes()
	c.recordDisks()
	c.bootOrder()
	c.devices()
	c.bootstrap()
	c.vApp()
	c.mark()
	c.recordAdapters()
	return c.out
}

// add records a difference unless running and desired are equal.
func (c *comparison) add(d Difference) {
	if d.Running != d.Desired {
		c.out = append(c.out, d)
	}
}

// told is a value of the VM, and nothing for a new one: its image has some value that
// nobody here knows, so that it is told in any case.
func (c *comparison) told(value string) string {
	if c.vm.Config == nil {
		return ""
	}
	return value
}

func (c *comparison) identity() {
	w := c.want
	if w.Name != "" && !c.adopted {
		c.add(Difference{Path: "metadata.name", Running: c.vm.Name, Desired: w.Name, Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.Name = w.Name }})
	}
	if w.InstanceUUID != "" {
		c.add(Difference{Path: "instanceUUID", Running: lower(c.have.InstanceUuid), Desired: lower(w.InstanceUUID), Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.InstanceUuid = lower(w.InstanceUUID) }})
	}
	c.extraConfig("metadata.uid", ownerKey, w.Owner.String(), true, false)
	if c.adopted {
		c.extraConfig("metadata.uid", observe.AdoptedKey, w.Owner.UID, true, false)
	}
	if !w.LastRestart.IsZero() {
		c.extraConfig("nextRestartTime", lastRestartKey, w.LastRestart.UTC().Format(restartFormat), true, true)
	}
}

func (c *comparison) memory() {
	mem := c.want.Effective.Memory
	hotAdd := isTrue(c.have.MemoryHotAddEnabled)
	if mem.Guest != nil {
		mb := mebibytes(mem.Guest)
		have := int64(c.have.Hardware.MemoryMB)
		live := hotAdd && mb > have
		c.memoryWaits = mb != have && !live
		c.add(Difference{Path: hardware.MemoryGuest, Running: mi(have), Desired: mi(mb), Live: live,
			set: func(s *types.VirtualMachineConfigSpec) { s.MemoryMB = mb }})
	}
	want := isTrue(mem.HotAddEnabled) || mem.HotAddEnabled == nil && mem.MaxGuest != nil && mem.Guest != nil && mem.MaxGuest.Cmp(*mem.Guest) > 0
	c.add(Difference{Path: hardware.MemoryHotAdd, Running: c.told(hardware.Flag(hotAdd)), Desired: hardware.Flag(want),
		set: func(s *types.VirtualMachineConfigSpec) { s.MemoryHotAddEnabled = &want }})
	running := ""
	if strings.EqualFold(extra(c, hugePageKey), "TRUE") {
		running = largePages
	}
	switch {
	case mem.HugePageSize == largePages:
		c.add(Difference{Path: hardware.MemoryHugePages, Running: running, Desired: largePages, set: option(hugePageKey, "TRUE")})
	case !c.adopted:
		// A VM with the key and without the reservation does not power on.
		c.add(Difference{Path: hardware.MemoryHugePages, Running: running, set: option(hugePageKey, "")})
	}
}

// version parses vmx-NN; 0 when it is something else.
func version(s string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "vmx-"), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
