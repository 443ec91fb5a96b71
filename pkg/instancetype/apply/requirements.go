// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// architecture is the one that vSphere's guests have: VirtualMachineGuestOsIdentifier
// knows no other.
const architecture = "amd64"

// checkRequirements compares the size with what the preference requires. All that is
// not met is reported; a size that is not given is reported elsewhere.
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
			"preference requires architecture %s but %s is being requested, which all guests of vSphere have: choose a preference for it",
			*want, architecture))
	}
}

// checkCPU compares vCPUs: those of an instance type or class whatever their
// arrangement, those of a virtual machine in the dimensions of the preference.
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
		have = int64(in.Instancetype.CPU.Guest) // also of one that cannot be arranged
	}
	if have < required {
		found.add(RequirementProblem, path, fmt.Sprintf(
			"insufficient CPU resources of %d vCPU provided by %s, preference requires %d vCPU", have, provider, required))
	}
}

// sizeSource is who gives the size, and the field that says so; empty when the
// virtual machine gives it itself.
func sizeSource(in Inputs) (provider, path string) {
	switch {
	case in.Instancetype != nil:
		return sourceInstancetype, "spec.instancetype"
	case in.Class != nil:
		return sourceClass, "spec.className"
	}
	return sourceVM, ""
}

// dimensions are those in which a preference counts the vCPUs of a virtual machine.
type dimensions struct {
	// vcpus is their product.
	vcpus int64
	// name is how KubeVirt's messages call them.
	name string
	// path is the field in which vCPUs would be added.
	path string
}

// preferredDimensions counts the vCPUs that cpu has in the topology of pref.
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
