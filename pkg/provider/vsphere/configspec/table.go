// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

type configSpec = types.VirtualMachineConfigSpec

// row implements one field of hardware.Fields for vSphere. It has read and set, or compare, or all of them.
type row struct {
	// read copies the VM's value into in.running.
	read func(in *input)
	// unknown reports whether the VM's value is not known, so that it is always set. Optional.
	unknown func(in *input) bool
	// adjust changes the desired value to the value that the VM will get. If it is nil and the spec does not set
	// the field, the VM keeps its value.
	adjust func(in *input)
	// resets is true if an unset field returns to vSphere's default. An adopted VM keeps its value.
	resets bool
	// set adds the desired value to a reconfiguration.
	set func(in *input, s *configSpec)
	// compare compares devices, or values that hardware.State does not contain.
	compare func(in *input) []Difference
}

// rows contains the fields of hardware.Fields that vSphere supports, by path.
var rows = map[string]row{
	hardware.CPUSockets: {read: readTopology, unknown: isNew, adjust: adjustTopology, set: setSockets},
	hardware.CPUCores:   {read: readTopology, unknown: coresUnknown, adjust: adjustTopology, set: setCores, compare: compareVCPUs},
	hardware.CPUHotAdd: {unknown: isNew,
		read: func(in *input) { in.running.CPU.HotAddEnabled = types.NewBool(isTrue(in.config.CpuHotAddEnabled)) },
		adjust: func(in *input) {
			c := in.Effective.CPU
			enabled := isTrue(c.HotAddEnabled) || c.HotAddEnabled == nil && !isTrue(c.ExposeVNUMA) && c.MaxSockets != nil && *c.MaxSockets > max(c.Sockets, 1)
			in.desired.CPU.HotAddEnabled = &enabled
		},
		set: func(in *input, s *configSpec) { s.CpuHotAddEnabled = in.desired.CPU.HotAddEnabled }},
	hardware.CPULatency: {
		read: func(in *input) {
			in.running.CPU.LatencySensitivity = vmv1alpha1.LatencySensitivity(title(string(in.config.LatencySensitivity.Level)))
		},
		adjust: func(in *input) {
			switch level := &in.desired.CPU.LatencySensitivity; {
			case hardware.HasDedicatedCores(in.Effective.CPU):
				*level = vmv1alpha1.LatencySensitivityHigh
			case in.adopted:
				*level = in.running.CPU.LatencySensitivity
			default:
				*level = vmv1alpha1.LatencySensitivityNormal
			}
		},
		set: func(in *input, s *configSpec) {
			s.LatencySensitivity = &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevel(lower(string(in.desired.CPU.LatencySensitivity)))}
		}},
	hardware.CPUReservation: {
		read: func(in *input) { in.running.CPU.Reservation = quantityOf(in.config.CpuAllocation.Reservation, mhz) },
		adjust: func(in *input) {
			own := hardware.HasDedicatedCores(in.Effective.CPU)
			switch c := in.desired.CPU; {
			case c.Reservation != nil:
			case own && in.HostMHz > 0:
				vcpus, _ := hardware.CPUs(c)
				c.Reservation = resource.NewQuantity(int64(vcpus)*in.HostMHz*mhz, resource.DecimalSI)
			case in.adopted && !own:
				c.Reservation = in.running.CPU.Reservation
			}
		},
		set: func(in *input, s *configSpec) {
			ensurePart(&s.CpuAllocation).Reservation = units(in.desired.CPU.Reservation, mhz, 0)
		}},
	hardware.CPULimit: {resets: true,
		read: func(in *input) { in.running.CPU.Limit = quantityOf(in.config.CpuAllocation.Limit, mhz) },
		set: func(in *input, s *configSpec) {
			ensurePart(&s.CpuAllocation).Limit = units(in.desired.CPU.Limit, mhz, unlimited)
		}},
	hardware.CPUShares: {resets: true,
		read: func(in *input) { in.running.CPU.Shares = sharesOf(in.config.CpuAllocation.Shares) },
		set: func(in *input, s *configSpec) {
			ensurePart(&s.CpuAllocation).Shares = sharesInfo(in.desired.CPU.Shares)
		}},

	hardware.MemoryGuest: {
		read: func(in *input) {
			mb := int64(in.config.Hardware.MemoryMB)
			in.running.Memory.Guest = quantityOf(&mb, mib)
		},
		set: func(in *input, s *configSpec) { s.MemoryMB = mebibytes(in.desired.Memory.Guest) }},
	hardware.MemoryHotAdd: {unknown: isNew,
		read: func(in *input) {
			in.running.Memory.HotAddEnabled = types.NewBool(isTrue(in.config.MemoryHotAddEnabled))
		},
		adjust: func(in *input) {
			m := in.Effective.Memory
			enabled := isTrue(m.HotAddEnabled) || m.HotAddEnabled == nil && m.MaxGuest != nil && m.Guest != nil && m.MaxGuest.Cmp(*m.Guest) > 0
			in.desired.Memory.HotAddEnabled = &enabled
		},
		set: func(in *input, s *configSpec) { s.MemoryHotAddEnabled = in.desired.Memory.HotAddEnabled }},
	hardware.MemoryHugePages: {
		read: func(in *input) {
			if strings.EqualFold(in.extra(hugePageKey), "TRUE") {
				in.running.Memory.HugePageSize = hardware.LargePageSize
			}
		},
		adjust: func(in *input) {
			switch {
			case in.desired.Memory.HugePageSize == hardware.LargePageSize:
			case in.adopted:
				in.desired.Memory.HugePageSize = in.running.Memory.HugePageSize
			default: // A VM with the key but without the reservation cannot be powered on.
				in.desired.Memory.HugePageSize = ""
			}
		},
		set: func(in *input, s *configSpec) {
			option(hugePageKey, map[string]string{hardware.LargePageSize: "TRUE"}[in.desired.Memory.HugePageSize])(s)
		}},
	hardware.MemoryReservation: {
		read: func(in *input) {
			in.running.Memory.Reservation = quantityOf(in.config.MemoryAllocation.Reservation, mib)
		},
		adjust: func(in *input) {
			switch m := in.desired.Memory; {
			case in.reservesMemory && in.Effective.Memory.Guest != nil:
				m.Reservation = m.Guest
			case m.Reservation == nil && in.adopted && !in.reservesMemory:
				m.Reservation = in.running.Memory.Reservation
			}
		},
		set: func(in *input, s *configSpec) {
			ensurePart(&s.MemoryAllocation).Reservation = units(in.desired.Memory.Reservation, mib, 0)
		}},
	hardware.MemoryLocked: {
		read: func(in *input) { in.running.MemoryLocked = isTrue(in.config.MemoryReservationLockedToMax) },
		adjust: func(in *input) {
			in.desired.MemoryLocked = in.reservesMemory || in.adopted && in.running.MemoryLocked
		},
		set: func(in *input, s *configSpec) { s.MemoryReservationLockedToMax = &in.desired.MemoryLocked }},
	hardware.MemoryLimit: {resets: true,
		read: func(in *input) { in.running.Memory.Limit = quantityOf(in.config.MemoryAllocation.Limit, mib) },
		set: func(in *input, s *configSpec) {
			ensurePart(&s.MemoryAllocation).Limit = units(in.desired.Memory.Limit, mib, unlimited)
		}},
	hardware.MemoryShares: {resets: true,
		read: func(in *input) { in.running.Memory.Shares = sharesOf(in.config.MemoryAllocation.Shares) },
		set: func(in *input, s *configSpec) {
			ensurePart(&s.MemoryAllocation).Shares = sharesInfo(in.desired.Memory.Shares)
		}},

	hardware.Bootloader: {
		read: func(in *input) {
			in.running.Firmware.Bootloader = vmv1alpha1.Bootloader(strings.ToUpper(in.config.Firmware))
		},
		set: func(in *input, s *configSpec) { s.Firmware = lower(string(in.desired.Firmware.Bootloader)) }},
	hardware.SecureBoot: {
		read: func(in *input) {
			in.running.Firmware.SecureBoot = types.NewBool(isTrue(in.config.BootOptions.EfiSecureBootEnabled))
		},
		set: func(in *input, s *configSpec) {
			ensurePart(&s.BootOptions).EfiSecureBootEnabled = in.desired.Firmware.SecureBoot
			// vSphere validates both values together.
			s.Firmware = lower(string(in.Effective.Firmware.Bootloader))
		}},
	hardware.BIOSUUID: {
		read: func(in *input) { in.running.Firmware.UUID = in.config.Uuid },
		set:  func(in *input, s *configSpec) { s.Uuid = lower(in.desired.Firmware.UUID) }},
	// RequiredHardwareVersion handles hardware upgrades, which are a separate operation.
	hardware.HardwareVersion: {
		read: func(in *input) { in.running.MinHardwareVersion = observe.HardwareVersion(in.config.Version) },
		adjust: func(in *input) {
			in.desired.MinHardwareVersion = max(in.desired.MinHardwareVersion, in.running.MinHardwareVersion)
		},
		set: func(*input, *configSpec) {}},
	hardware.GuestID: {
		read: func(in *input) { in.running.GuestID = in.config.GuestId },
		set:  func(in *input, s *configSpec) { s.GuestId = in.desired.GuestID }},

	hardware.StorageClass:         {compare: compareHome},
	hardware.BootDiskSize:         {compare: compareBootDisk},
	hardware.BootDiskStorageClass: {compare: compareBootDiskPolicy},
	hardware.BootOrder:            {compare: compareBootOrder},
	hardware.GPUs: {read: readPassthrough,
		compare: func(in *input) []Difference { return comparePassthrough(in)[hardware.GPUs] }},
	hardware.HostDevices: {compare: func(in *input) []Difference { return comparePassthrough(in)[hardware.HostDevices] }},
	hardware.TPM:         {read: readTPM, adjust: adjustTPM, set: setTPM},
	hardware.DisableHotplug: {
		read: func(in *input) { in.running.Devices.DisableHotplug = types.NewBool(!isOn(in, hotplugKey)) },
		set: func(in *input, s *configSpec) {
			option(hotplugKey, upperFlag(!isTrue(in.desired.Devices.DisableHotplug)))(s)
		}},
	hardware.GraphicsDevice: {
		read: func(in *input) { in.running.Devices.AutoattachGraphicsDevice = types.NewBool(isOn(in, videoKey)) },
		set: func(in *input, s *configSpec) {
			option(videoKey, upperFlag(isTrue(in.desired.Devices.AutoattachGraphicsDevice)))(s)
		}},
	hardware.SerialConsole: {read: readSerialPort, adjust: adjustSerialPort, set: setSerialPort},
}

// readStates reads the VM's state and determines its desired state.
func readStates(in *input) {
	in.running, in.desired = hardware.StateOf(nil), hardware.StateOf(in.Effective.DeepCopy())
	for _, card := range observe.EthernetCards(in.vm) {
		in.running.Network.Interfaces = append(in.running.Network.Interfaces, *interfaceOf(card))
	}
	for _, q := range []**resource.Quantity{&in.desired.Memory.Guest, &in.desired.Memory.Reservation, &in.desired.Memory.Limit} {
		*q = quantityOf(units(*q, mib, unlimited), mib)
	}
	for _, r := range rows {
		if r.read != nil {
			r.read(in)
		}
	}
	in.reservesMemory = reservesMemory(in)
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		switch r := rows[f.Path]; {
		case !isCompared(in, f.Path):
		case r.adjust != nil:
			r.adjust(in)
		case r.set != nil && !f.IsSet(in.desired) && (in.adopted || !r.resets):
			f.Copy(in.desired, in.running)
		}
	}
	for _, f := range needNewerVersion(in) {
		f.Copy(in.desired, in.running)
	}
}

// compareFields compares the fields of the table.
func compareFields(in *input) []Difference {
	var out []Difference
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		r := rows[f.Path]
		if !isCompared(in, f.Path) {
			continue
		}
		if r.set != nil {
			d := Difference{Path: f.Path, Running: f.Value(in.running), Desired: f.Value(in.desired), Live: f.Effect(in.running, in.desired) == vmv1alpha1.RefreshEffectLive,
				set: func(s *configSpec) { r.set(in, s) }}
			if r.unknown != nil && r.unknown(in) {
				d.Running = ""
			}
			out = append(out, d)
		}
		if r.compare != nil {
			out = append(out, r.compare(in)...)
		}
	}
	return out
}

// isCompared reports whether a field is compared. A new VM gets its devices after it was created. An adopted VM
// keeps its firmware and BIOS UUID, because its guest depends on them.
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
