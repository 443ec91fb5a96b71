// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
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
}

func newComparison(want Want, vm *mo.VirtualMachine) *comparison {
	c := &comparison{want: want, have: vm.Config, vm: vm}
	if c.have == nil {
		c.have = &types.VirtualMachineConfigInfo{}
	}
	return c
}

// Differences compares want with vm. An empty vm gives everything that want
// sets, which is what a create needs. A VM whose configuration could not be
// read must not be passed.
func Differences(want Want, vm *mo.VirtualMachine) []Difference {
	c := newComparison(want, vm)
	c.identity()
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
	c.volumes()
	c.devices()
	c.bootstrap()
	c.vApp()
	c.mark()
	return c.out
}

// add records a difference unless running and desired are equal.
func (c *comparison) add(d Difference) {
	if d.Running != d.Desired {
		c.out = append(c.out, d)
	}
}

func (c *comparison) identity() {
	w := c.want
	if w.Name != "" {
		c.add(Difference{Path: "metadata.name", Running: c.vm.Name, Desired: w.Name, Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.Name = w.Name }})
	}
	if w.InstanceUUID != "" {
		c.add(Difference{Path: "instanceUUID", Running: lower(c.have.InstanceUuid), Desired: lower(w.InstanceUUID),
			set: func(s *types.VirtualMachineConfigSpec) { s.InstanceUuid = lower(w.InstanceUUID) }})
	}
	c.extraConfig("metadata.uid", ownerKey, w.Owner.String(), true, false)
	if !w.LastRestart.IsZero() {
		c.extraConfig("nextRestartTime", lastRestartKey, w.LastRestart.UTC().Format(restartFormat), true, true)
	}
}

func (c *comparison) cpu() {
	cpu := c.want.Effective.CPU
	vcpus, cores := CPUs(cpu)
	hw := c.have.Hardware
	haveCores := int32(1)
	if hw.NumCoresPerSocket != nil {
		haveCores = max(*hw.NumCoresPerSocket, 1)
	}
	hotAdd := isTrue(c.have.CpuHotAddEnabled)
	live := hotAdd && vcpus > hw.NumCPU && cores == haveCores
	c.cpuWaits = vcpus != hw.NumCPU && !live
	c.add(Difference{Path: "cpu.cores", Running: itoa(haveCores), Desired: itoa(cores),
		set: func(s *types.VirtualMachineConfigSpec) { s.NumCoresPerSocket = &cores }})
	c.add(Difference{Path: "cpu.sockets", Running: itoa(hw.NumCPU / haveCores), Desired: itoa(vcpus / cores),
		Live: live,
		set:  func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = vcpus }})
	if hw.NumCPU != vcpus && hw.NumCPU/haveCores == vcpus/cores {
		// The number of sockets is the same, that of CPUs is not.
		c.add(Difference{Path: "cpu.vcpus", Running: itoa(hw.NumCPU), Desired: itoa(vcpus),
			set: func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = vcpus }})
	}
	want := isTrue(cpu.HotAddEnabled) || cpu.HotAddEnabled == nil && !isTrue(cpu.ExposeVNUMA) && cpu.MaxSockets != nil && *cpu.MaxSockets > max(cpu.Sockets, 1)
	c.add(Difference{Path: "cpu.hotAddEnabled", Running: strconv.FormatBool(hotAdd), Desired: strconv.FormatBool(want),
		set: func(s *types.VirtualMachineConfigSpec) { s.CpuHotAddEnabled = &want }})
	c.latency()
}

func (c *comparison) memory() {
	mem := c.want.Effective.Memory
	hotAdd := isTrue(c.have.MemoryHotAddEnabled)
	if mem.Guest != nil {
		mb := mebibytes(mem.Guest)
		have := int64(c.have.Hardware.MemoryMB)
		live := hotAdd && mb > have
		c.memoryWaits = mb != have && !live
		c.add(Difference{Path: "memory.guest", Running: mi(have), Desired: mi(mb), Live: live,
			set: func(s *types.VirtualMachineConfigSpec) { s.MemoryMB = mb }})
	}
	want := isTrue(mem.HotAddEnabled) || mem.HotAddEnabled == nil && mem.MaxGuest != nil && mem.Guest != nil && mem.MaxGuest.Cmp(*mem.Guest) > 0
	c.add(Difference{Path: "memory.hotAddEnabled", Running: strconv.FormatBool(hotAdd), Desired: strconv.FormatBool(want),
		set: func(s *types.VirtualMachineConfigSpec) { s.MemoryHotAddEnabled = &want }})
	switch {
	case mem.HugePageSize == "1Gi":
		c.extraConfig("memory.hugePageSize", hugePageKey, "TRUE", false, false)
	case strings.EqualFold(extra(c, hugePageKey), "TRUE"):
		// A VM with the key and without the reservation does not power on.
		c.extraConfig("memory.hugePageSize", hugePageKey, "", false, false)
	}
}

func (c *comparison) firmware() {
	e := c.want.Effective
	if have := version(c.have.Version); e.MinHardwareVersion > have {
		c.add(Difference{Path: "minHardwareVersion", Running: itoa(have), Desired: itoa(e.MinHardwareVersion),
			set: func(*types.VirtualMachineConfigSpec) {}, upgrade: fmt.Sprintf("vmx-%02d", e.MinHardwareVersion)})
	}
	if e.GuestID != "" {
		c.add(Difference{Path: "guestID", Running: c.have.GuestId, Desired: e.GuestID,
			set: func(s *types.VirtualMachineConfigSpec) { s.GuestId = e.GuestID }})
	}
	fw := e.Firmware
	if fw == nil {
		return
	}
	if fw.UUID != "" {
		c.add(Difference{Path: "firmware.uuid", Running: lower(c.have.Uuid), Desired: lower(fw.UUID),
			set: func(s *types.VirtualMachineConfigSpec) { s.Uuid = lower(fw.UUID) }})
	}
	if fw.Bootloader != "" {
		c.add(Difference{Path: "firmware.bootloader", Running: lower(c.have.Firmware), Desired: lower(string(fw.Bootloader)),
			set: func(s *types.VirtualMachineConfigSpec) { s.Firmware = lower(string(fw.Bootloader)) }})
	}
	if fw.SecureBoot != nil {
		have := c.have.BootOptions != nil && isTrue(c.have.BootOptions.EfiSecureBootEnabled)
		want := *fw.SecureBoot
		c.add(Difference{Path: "firmware.secureBoot", Running: strconv.FormatBool(have), Desired: strconv.FormatBool(want),
			set: func(s *types.VirtualMachineConfigSpec) {
				s.BootOptions = &types.VirtualMachineBootOptions{EfiSecureBootEnabled: &want}
				// vSphere checks the two together.
				s.Firmware = lower(string(fw.Bootloader))
			}})
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
