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

// maxVCPUsWithHotAdd is the number of vCPUs up to which hot-add is on by
// default. From 9 vCPUs on vSphere shows the guest a virtual NUMA layout
// (numa.vcpu.min), which CPU hot-add turns off.
const maxVCPUsWithHotAdd = 8

// defaultInterfaceName is the name of the interface that a virtual machine gets
// when it names none.
const defaultInterfaceName = "eth0"

// firmwareNamespace is the name space (RFC 9562, version 5) of BIOS UUIDs; a
// random value, chosen once.
var firmwareNamespace = uuid.MustParse("5f0e2a5b-6b0a-4b53-9d1c-2b7a2b1c6f4e")

// DefaultInterface is the interface that a virtual machine gets when its
// network is not disabled and it names none.
func DefaultInterface() vmv1alpha1.VirtualMachineNetworkInterface {
	return vmv1alpha1.VirtualMachineNetworkInterface{Name: defaultInterfaceName}
}

// FirmwareUUID is the BIOS UUID of a virtual machine that names none. The UID
// of the object decides it, so that it is the same however often it is asked for.
func FirmwareUUID(uid types.UID) string {
	return uuid.NewSHA1(firmwareNamespace, []byte(uid)).String()
}

// applyDefaults completes what nobody set.
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

// defaultMemory reserves all memory where vSphere refuses to start without.
func defaultMemory(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	if hardware.Pinned(spec) {
		guest := spec.Memory.Guest.DeepCopy()
		spec.Memory.Reservation = &guest
	}
}

// defaultHotAdd turns hot-add on where it costs the guest nothing, so that a
// bigger size can reach a running virtual machine.
func defaultHotAdd(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	cpu, memory := spec.CPU, spec.Memory
	exposed := cpu.ExposeVNUMA != nil && *cpu.ExposeVNUMA
	cheap := !exposed && !hardware.Pinned(spec) && vcpus(cpu) <= maxVCPUsWithHotAdd
	if cpu.HotAddEnabled == nil {
		switch {
		case cpu.MaxSockets != nil:
			// With hot-add the guest would not see the NUMA layout that it is to see.
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

// checkCeilings reports a ceiling of the virtual machine that is below the size
// that it gets from elsewhere; a size of its own is validated with the object.
func checkCeilings(spec *vmv1alpha1.VirtualMachineInstanceSpec, own *vmv1alpha1.VirtualMachineSpec, found *problems) {
	if own.CPU != nil && own.CPU.MaxSockets != nil && *own.CPU.MaxSockets < spec.CPU.Sockets {
		found.add(InvalidProblem, "spec.cpu.maxSockets", fmt.Sprintf("%d is below the %d sockets of the %s",
			*own.CPU.MaxSockets, spec.CPU.Sockets, sourceInstancetype))
	}
	if own.Memory != nil && own.Memory.MaxGuest != nil && spec.Memory.Guest != nil && own.Memory.MaxGuest.Cmp(*spec.Memory.Guest) < 0 {
		found.add(InvalidProblem, "spec.memory.maxGuest", fmt.Sprintf("%s is below the %s of the %s",
			own.Memory.MaxGuest.String(), spec.Memory.Guest.String(), sourceInstancetype))
	}
}

func defaultNetwork(spec *vmv1alpha1.VirtualMachineInstanceSpec, pref *itv1alpha1.VirtualMachinePreferenceSpec) {
	if spec.Network == nil {
		spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	if len(spec.Network.Interfaces) == 0 && !spec.Network.Disabled && wantsInterface(pref) {
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

func wantsInterface(pref *itv1alpha1.VirtualMachinePreferenceSpec) bool {
	return pref == nil || pref.Devices == nil ||
		pref.Devices.PreferredAutoattachPodInterface == nil || *pref.Devices.PreferredAutoattachPodInterface
}
