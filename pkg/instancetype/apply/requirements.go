// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// architecture is the architecture of all vSphere guests. VirtualMachineGuestOsIdentifier has no other.
const architecture = "amd64"

// checkRequirements compares the size with the requirements of the preference, and reports all unmet requirements. A
// missing size is reported elsewhere.
func checkRequirements(spec *vmv1alpha1.VirtualMachineInstanceSpec, in Inputs, found *problems) {
	required := in.Preference.Requirements
	if required == nil {
		return
	}
	if required.CPU != nil {
		checkCPU(spec, in, int64(required.CPU.Guest), found)
	}
	if required.Memory != nil && spec.Memory.Guest != nil && spec.Memory.Guest.Cmp(required.Memory.Guest) < 0 {
		provider, path := sizeSource(in)
		if path == "" {
			path = "spec.memory.guest"
		}
		found.add(RequirementProblem, path, fmt.Sprintf(
			"insufficient Memory resources of %s provided by %s, preference requires %s",
			spec.Memory.Guest.String(), provider, required.Memory.Guest.String()))
	}
	if want := required.Architecture; want != nil && *want != architecture {
		found.add(RequirementProblem, "spec.preference", fmt.Sprintf(
			"preference requires architecture %s but %s is being requested, the only architecture of vSphere guests: choose another preference",
			*want, architecture))
	}
}

// checkCPU compares vCPUs. For an instance type or a class it compares the total number. For an inline size it compares
// the dimensions of the preferred topology.
func checkCPU(spec *vmv1alpha1.VirtualMachineInstanceSpec, in Inputs, required int64, found *problems) {
	provider, path := sizeSource(in)
	if path == "" {
		dimensions := preferredDimensions(in.Preference, spec.CPU)
		if vcpus(spec.CPU) == 0 || dimensions.vcpus >= required {
			return
		}
		found.add(RequirementProblem, dimensions.path, fmt.Sprintf(
			"insufficient CPU resources of %d vCPU provided by %s, preference requires %d vCPU provided as %s",
			dimensions.vcpus, provider, required, dimensions.name))
		return
	}
	have := vcpus(spec.CPU)
	if in.Instancetype != nil {
		have = int64(in.Instancetype.CPU.Guest) // also if it cannot be arranged
	}
	if have < required {
		found.add(RequirementProblem, path, fmt.Sprintf(
			"insufficient CPU resources of %d vCPU provided by %s, preference requires %d vCPU", have, provider, required))
	}
}

// sizeSource returns the source of the size, and the field that refers to it. The path is empty if the size is inline.
func sizeSource(in Inputs) (provider, path string) {
	switch {
	case in.Instancetype != nil:
		return sourceInstancetype, "spec.instancetype"
	case in.Class != nil:
		return sourceClass, "spec.className"
	}
	return sourceVM, ""
}

// dimensions are the dimensions in which a preference counts vCPUs.
type dimensions struct {
	// vcpus is the product of the dimensions.
	vcpus int64
	// name is the name of the dimensions in KubeVirt's messages.
	name string
	// path is the field to change to add vCPUs.
	path string
}

// preferredDimensions counts the vCPUs of cpu in the dimensions of pref's topology.
func preferredDimensions(pref *itv1alpha1.VirtualMachinePreferenceSpec, cpu *vmv1alpha1.VirtualMachineCPU) dimensions {
	sockets, cores, threads := int64(max(cpu.Sockets, 1)), int64(max(cpu.Cores, 1)), int64(max(cpu.Threads, 1))
	switch topology := PreferredTopology(pref); topology {
	case itv1alpha1.Sockets:
		return dimensions{sockets, string(topology), "spec.cpu.sockets"}
	case itv1alpha1.Cores:
		return dimensions{cores, string(topology), "spec.cpu.cores"}
	case itv1alpha1.Threads:
		return dimensions{threads, string(topology), "spec.cpu.threads"}
	case itv1alpha1.Spread:
		across, _ := spreadOptions(pref)
		switch across {
		case itv1alpha1.SpreadAcrossCoresThreads:
			return dimensions{cores * threads, string(across), "spec.cpu"}
		case itv1alpha1.SpreadAcrossSocketsCoresThreads:
			return dimensions{sockets * cores * threads, string(across), "spec.cpu"}
		default:
			return dimensions{sockets * cores, string(across), "spec.cpu"}
		}
	default:
		return dimensions{sockets * cores * threads, "cores, sockets and threads", "spec.cpu"}
	}
}
