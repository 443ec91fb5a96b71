// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

// maxVCPUsWithHotAdd is the number of vCPUs up to which hot-add is enabled by default. With 9 or more vCPUs vSphere
// exposes virtual NUMA to the guest (numa.vcpu.min), which CPU hot-add disables.
const maxVCPUsWithHotAdd = 8

// defaultInterfaceName is the name of the default interface.
const defaultInterfaceName = "eth0"

// firmwareNamespace is the namespace of BIOS UUIDs (RFC 9562, version 5). It is a random constant.
var firmwareNamespace = uuid.MustParse("5f0e2a5b-6b0a-4b53-9d1c-2b7a2b1c6f4e")

// DefaultInterface returns the interface of a virtual machine that specifies none and whose network is not disabled.
func DefaultInterface() vmv1alpha1.VirtualMachineNetworkInterface {
	return vmv1alpha1.VirtualMachineNetworkInterface{Name: defaultInterfaceName}
}

// FirmwareUUID returns the default BIOS UUID of a virtual machine. It is derived from the UID of the object, so it
// never changes.
func FirmwareUUID(uid types.UID) string {
	return uuid.NewSHA1(firmwareNamespace, []byte(uid)).String()
}

// applyDefaults sets the defaults of unset fields.
func applyDefaults(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.VirtualMachinePreferenceSpec) {
	defaultCPU(spec)
	defaultMemory(spec)
	defaultHotAdd(spec)
	defaultNetwork(spec, pref)
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if bus, ok := diskBus(v.Bus); ok {
			v.Bus = bus
		} else if v.Bus == "" {
			v.Bus = busPVSCSI
			if v.CDROM != nil {
				v.Bus = busSATA
			}
		}
	}
	sourceAnnotations(spec)
}

func defaultCPU(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	cpu := spec.CPU
	cpu.Sockets = max(cpu.Sockets, 1)
	cpu.Cores = max(cpu.Cores, 1)
	cpu.Threads = max(cpu.Threads, 1)
	if cpu.DedicatedCPUPlacement != nil && *cpu.DedicatedCPUPlacement && cpu.LatencySensitivity == "" {
		cpu.LatencySensitivity = vmv1alpha1.LatencySensitivityHigh
	}
}

// defaultMemory reserves all memory if vSphere requires this for power on.
func defaultMemory(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	if hardware.NeedsFullReservation(spec) {
		guest := spec.Memory.Guest.DeepCopy()
		spec.Memory.Reservation = &guest
	}
}

// defaultHotAdd enables hot-add if it has no disadvantage for the guest, so that a larger size can be applied to a
// running virtual machine.
func defaultHotAdd(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	cpu, memory := spec.CPU, spec.Memory
	exposed := cpu.ExposeVNUMA != nil && *cpu.ExposeVNUMA
	cheap := !exposed && !hardware.NeedsFullReservation(spec) && vcpus(cpu) <= maxVCPUsWithHotAdd
	if cpu.HotAddEnabled == nil {
		switch {
		case cpu.MaxSockets != nil:
			// With hot-add the guest would not see the NUMA topology that it must see.
			enabled := *cpu.MaxSockets > cpu.Sockets && !exposed
			cpu.HotAddEnabled = &enabled
		case cheap:
			enabled := true
			cpu.HotAddEnabled = &enabled
		}
	}
	if memory.HotAddEnabled == nil {
		switch {
		case memory.MaxGuest != nil:
			enabled := memory.MaxGuest.Cmp(*memory.Guest) > 0
			memory.HotAddEnabled = &enabled
		case cheap:
			enabled := true
			memory.HotAddEnabled = &enabled
		}
	}
}

// checkCeilings reports a maximum in the virtual machine's spec that is less than the size from an instance type.
// Inline sizes are validated with the object.
func checkCeilings(spec *vmv1alpha1.VirtualMachineInstanceSpec, own *vmv1alpha1.VirtualMachineSpec, found *problems) {
	if own.CPU != nil && own.CPU.MaxSockets != nil && *own.CPU.MaxSockets < spec.CPU.Sockets {
		found.add(InvalidProblem, "spec.cpu.maxSockets", fmt.Sprintf("%d is less than the %d sockets of the %s",
			*own.CPU.MaxSockets, spec.CPU.Sockets, sourceInstancetype))
	}
	if own.Memory != nil && own.Memory.MaxGuest != nil && spec.Memory.Guest != nil && own.Memory.MaxGuest.Cmp(*spec.Memory.Guest) < 0 {
		found.add(InvalidProblem, "spec.memory.maxGuest", fmt.Sprintf("%s is less than the %s of the %s",
			own.Memory.MaxGuest.String(), spec.Memory.Guest.String(), sourceInstancetype))
	}
}

func defaultNetwork(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.VirtualMachinePreferenceSpec) {
	if spec.Network == nil {
		spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	if len(spec.Network.Interfaces) == 0 && !spec.Network.Disabled && hasDefaultInterface(pref) {
		spec.Network.Interfaces = []vmv1alpha1.VirtualMachineNetworkInterface{DefaultInterface()}
		if pref != nil {
			fillInterfaces(spec, pref.Devices)
		}
	}
	for i := range spec.Network.Interfaces {
		nic := &spec.Network.Interfaces[i]
		if model, ok := nicModel(nic.Model); ok {
			nic.Model = model
		} else if nic.Model == "" {
			nic.Model = nicVMXNET3
		}
	}
}

func hasDefaultInterface(pref *itv1alpha1.VirtualMachinePreferenceSpec) bool {
	return pref == nil || pref.Devices == nil ||
		pref.Devices.PreferredAutoattachPodInterface == nil || *pref.Devices.PreferredAutoattachPodInterface
}
