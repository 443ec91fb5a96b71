// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// row is the vSphere side of one field of hardware.Fields. It has read and set, or compare, or all of them.
type row struct {
	// read puts the value of the VM into a state.
	read func(in *input, have *hardware.State)
	// unknown reports whether the value of the VM is not known, so that it is set in any case. It is optional.
	unknown func(in *input) bool
	// want changes the desired value to the one that the VM gets. Without it, the VM keeps a value that the spec
	// does not set.
	want func(in *input, have, want *hardware.State)
	// resets is true if the VM gets vSphere's default when the spec does not set the field. An adopted VM keeps its value.
	resets bool
	// set puts the desired value into a reconfiguration.
	set func(in *input, want *hardware.State, s *types.VirtualMachineConfigSpec)
	// compare compares devices, or values that a state does not have.
	compare func(in *input) []Difference
}

// rows has the fields of hardware.Fields that vSphere has, by path.
var rows = map[string]row{
	hardware.CPUSockets: {read: readSockets, unknown: isNew, want: wantSockets, set: setSockets},
	hardware.CPUCores:   {read: readCores, unknown: coresUnknown, want: wantCores, set: setCores, compare: compareVCPUs},
	hardware.CPUHotAdd: {unknown: isNew,
		read: func(in *input, have *hardware.State) {
			have.CPU.HotAddEnabled = types.NewBool(isTrue(in.have.CpuHotAddEnabled))
		},
		want: func(in *input, _, want *hardware.State) {
			c := in.Effective.CPU
			asked := isTrue(c.HotAddEnabled) || c.HotAddEnabled == nil && !isTrue(c.ExposeVNUMA) && c.MaxSockets != nil && *c.MaxSockets > max(c.Sockets, 1)
			want.CPU.HotAddEnabled = &asked
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.CpuHotAddEnabled = want.CPU.HotAddEnabled
		}},
	hardware.CPULatency: {
		read: func(in *input, have *hardware.State) {
			if l := in.have.LatencySensitivity; l != nil {
				have.CPU.LatencySensitivity = vmv1alpha1.LatencySensitivity(title(string(l.Level)))
			}
		},
		want: func(in *input, have, want *hardware.State) {
			switch {
			case hardware.OwnCores(in.Effective.CPU):
				want.CPU.LatencySensitivity = vmv1alpha1.LatencySensitivityHigh
			case in.adopted:
				want.CPU.LatencySensitivity = have.CPU.LatencySensitivity
			default:
				want.CPU.LatencySensitivity = vmv1alpha1.LatencySensitivityNormal
			}
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.LatencySensitivity = &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevel(lower(string(want.CPU.LatencySensitivity)))}
		}},
	hardware.CPUReservation: {
		read: func(in *input, have *hardware.State) {
			have.CPU.Reservation = amount(allocationOf(in.have.CpuAllocation).Reservation, limits.Megahertz)
		},
		want: func(in *input, have, want *hardware.State) {
			own := hardware.OwnCores(in.Effective.CPU)
			switch c := want.CPU; {
			case c.Reservation != nil:
			case own && in.HostMHz > 0:
				vcpus, _ := hardware.CPUs(c)
				c.Reservation = resource.NewQuantity(int64(vcpus)*in.HostMHz*limits.Megahertz, resource.DecimalSI)
			case in.adopted && !own:
				c.Reservation = have.CPU.Reservation
			}
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.CpuAllocation).Reservation = units(want.CPU.Reservation, limits.Megahertz, 0)
		}},
	hardware.CPULimit: {resets: true,
		read: func(in *input, have *hardware.State) {
			have.CPU.Limit = amount(allocationOf(in.have.CpuAllocation).Limit, limits.Megahertz)
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.CpuAllocation).Limit = units(want.CPU.Limit, limits.Megahertz, unlimited)
		}},
	hardware.CPUShares: {resets: true,
		read: func(in *input, have *hardware.State) {
			have.CPU.Shares = sharesOf(allocationOf(in.have.CpuAllocation).Shares)
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.CpuAllocation).Shares = sharesInfo(want.CPU.Shares)
		}},

	hardware.MemoryGuest: {
		read: func(in *input, have *hardware.State) {
			if mb := int64(in.have.Hardware.MemoryMB); mb > 0 {
				have.Memory.Guest = amount(&mb, limits.Mebibyte)
			}
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.MemoryMB = mebibytes(want.Memory.Guest)
		}},
	hardware.MemoryHotAdd: {unknown: isNew,
		read: func(in *input, have *hardware.State) {
			have.Memory.HotAddEnabled = types.NewBool(isTrue(in.have.MemoryHotAddEnabled))
		},
		want: func(in *input, _, want *hardware.State) {
			m := in.Effective.Memory
			asked := isTrue(m.HotAddEnabled) || m.HotAddEnabled == nil && m.MaxGuest != nil && m.Guest != nil && m.MaxGuest.Cmp(*m.Guest) > 0
			want.Memory.HotAddEnabled = &asked
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.MemoryHotAddEnabled = want.Memory.HotAddEnabled
		}},
	hardware.MemoryHugePages: {
		read: func(in *input, have *hardware.State) {
			if strings.EqualFold(in.extra(hugePageKey), "TRUE") {
				have.Memory.HugePageSize = hardware.LargePages
			}
		},
		want: func(in *input, have, want *hardware.State) {
			switch {
			case want.Memory.HugePageSize == hardware.LargePages:
			case in.adopted:
				want.Memory.HugePageSize = have.Memory.HugePageSize
			default: // A VM with the key and without the reservation does not power on.
				want.Memory.HugePageSize = ""
			}
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			value := ""
			if want.Memory.HugePageSize == hardware.LargePages {
				value = "TRUE"
			}
			option(hugePageKey, value)(s)
		}},
	hardware.MemoryReservation: {
		read: func(in *input, have *hardware.State) {
			have.Memory.Reservation = amount(allocationOf(in.have.MemoryAllocation).Reservation, limits.Mebibyte)
		},
		want: func(in *input, have, want *hardware.State) {
			switch m := want.Memory; {
			case hardware.Pinned(in.Effective) && in.Effective.Memory.Guest != nil:
				m.Reservation = m.Guest
			case m.Reservation == nil && in.adopted && !hardware.Pinned(in.Effective):
				m.Reservation = have.Memory.Reservation
			}
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.MemoryAllocation).Reservation = units(want.Memory.Reservation, limits.Mebibyte, 0)
		}},
	hardware.MemoryLocked: {
		read: func(in *input, have *hardware.State) {
			have.MemoryLocked = isTrue(in.have.MemoryReservationLockedToMax)
		},
		want: func(in *input, have, want *hardware.State) {
			want.MemoryLocked = hardware.Pinned(in.Effective) || in.adopted && have.MemoryLocked
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.MemoryReservationLockedToMax = &want.MemoryLocked
		}},
	hardware.MemoryLimit: {resets: true,
		read: func(in *input, have *hardware.State) {
			have.Memory.Limit = amount(allocationOf(in.have.MemoryAllocation).Limit, limits.Mebibyte)
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.MemoryAllocation).Limit = units(want.Memory.Limit, limits.Mebibyte, unlimited)
		}},
	hardware.MemoryShares: {resets: true,
		read: func(in *input, have *hardware.State) {
			have.Memory.Shares = sharesOf(allocationOf(in.have.MemoryAllocation).Shares)
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			allocation(&s.MemoryAllocation).Shares = sharesInfo(want.Memory.Shares)
		}},

	hardware.Bootloader: {
		read: func(in *input, have *hardware.State) {
			have.Firmware.Bootloader = vmv1alpha1.Bootloader(strings.ToUpper(in.have.Firmware))
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.Firmware = lower(string(want.Firmware.Bootloader))
		}},
	hardware.SecureBoot: {
		read: func(in *input, have *hardware.State) {
			have.Firmware.SecureBoot = types.NewBool(in.have.BootOptions != nil && isTrue(in.have.BootOptions.EfiSecureBootEnabled))
		},
		set: func(in *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			bootOptions(s).EfiSecureBootEnabled = want.Firmware.SecureBoot
			// vSphere checks the two together.
			s.Firmware = lower(string(in.Effective.Firmware.Bootloader))
		}},
	hardware.BIOSUUID: {
		read: func(in *input, have *hardware.State) { have.Firmware.UUID = in.have.Uuid },
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			s.Uuid = lower(want.Firmware.UUID)
		}},
	// An upgrade is an operation of its own.
	hardware.HardwareVersion: {
		read: func(in *input, have *hardware.State) { have.MinHardwareVersion = version(in.have.Version) },
		want: func(_ *input, have, want *hardware.State) {
			want.MinHardwareVersion = max(want.MinHardwareVersion, have.MinHardwareVersion)
		},
		set: func(*input, *hardware.State, *types.VirtualMachineConfigSpec) {}},
	hardware.GuestID: {
		read: func(in *input, have *hardware.State) { have.GuestID = in.have.GuestId },
		set:  func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) { s.GuestId = want.GuestID }},

	hardware.StorageClass:         {compare: compareHome},
	hardware.BootDiskSize:         {compare: compareBootDisk},
	hardware.BootDiskStorageClass: {compare: compareBootDiskPolicy},
	hardware.BootOrder:            {compare: compareBootOrder},
	hardware.GPUs: {read: readPassthrough,
		compare: func(in *input) []Difference { return comparePassthrough(in)[hardware.GPUs] }},
	hardware.HostDevices: {compare: func(in *input) []Difference { return comparePassthrough(in)[hardware.HostDevices] }},
	hardware.TPM:         {read: readTPM, want: wantTPM, set: setTPM},
	hardware.DisableHotplug: {
		read: func(in *input, have *hardware.State) {
			have.Devices.DisableHotplug = types.NewBool(!isOn(in, hotplugKey))
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			option(hotplugKey, upperFlag(!isTrue(want.Devices.DisableHotplug)))(s)
		}},
	hardware.GraphicsDevice: {
		read: func(in *input, have *hardware.State) {
			have.Devices.AutoattachGraphicsDevice = types.NewBool(isOn(in, videoKey))
		},
		set: func(_ *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
			option(videoKey, upperFlag(isTrue(want.Devices.AutoattachGraphicsDevice)))(s)
		}},
	hardware.SerialConsole: {read: readSerialPort, want: wantSerialPort, set: setSerialPort},
}

// states returns the state of the VM and the one that it gets.
func states(in *input) (have, want *hardware.State) {
	have, want = hardware.StateOf(nil), hardware.StateOf(in.Effective.DeepCopy())
	for _, card := range observe.EthernetCards(in.vm) {
		have.Network.Interfaces = append(have.Network.Interfaces, vmv1alpha1.VirtualMachineNetworkInterface{Model: model(card)})
	}
	for _, q := range []**resource.Quantity{&want.Memory.Guest, &want.Memory.Reservation, &want.Memory.Limit} {
		*q = amount(units(*q, limits.Mebibyte, unlimited), limits.Mebibyte)
	}
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		r := rows[f.Path]
		if r.read != nil {
			r.read(in, have)
		}
	}
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		switch r := rows[f.Path]; {
		case !isCompared(in, f.Path):
		case r.want != nil:
			r.want(in, have, want)
		case r.set != nil && !f.IsSet(want) && (in.adopted || !r.resets):
			f.Copy(want, have)
		}
	}
	return have, want
}

// compareFields compares the fields of the table.
func compareFields(in *input, have, want *hardware.State) []Difference {
	var out list
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		r := rows[f.Path]
		if !isCompared(in, f.Path) {
			continue
		}
		if r.set != nil {
			d := Difference{Path: f.Path, Running: f.Value(have), Desired: f.Value(want), Live: f.Effect(have, want) == vmv1alpha1.RefreshEffectLive,
				set: func(s *types.VirtualMachineConfigSpec) { r.set(in, want, s) }}
			if r.unknown != nil && r.unknown(in) {
				d.Running = ""
			}
			out.add(d)
		}
		if r.compare != nil {
			out.add(r.compare(in)...)
		}
	}
	return out
}

// isCompared reports whether a field is compared. A new VM gets its devices after it was created. An adopted VM
// keeps its firmware: its guest knows itself by the UUID and was installed for the bootloader.
func isCompared(in *input, path string) bool {
	switch part, _, _ := strings.Cut(path, "."); part {
	case "cpu":
		return in.Effective.CPU != nil
	case "memory":
		return in.Effective.Memory != nil
	case "firmware":
		return !in.adopted
	case "devices", hardware.StorageClass, "bootDisk", hardware.BootOrder:
		return in.exists()
	}
	return true
}

func isNew(in *input) bool { return !in.exists() }
