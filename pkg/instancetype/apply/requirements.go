// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// checkRequirements compares the effective size with what the preference
// requires. All that is not met is reported.
func checkRequirements(spec *vmv1alpha1.VirtualMachineInstanceSpec, in Inputs, found *problems) {
	required := in.Preference.Requirements
	if required == nil {
		return
	}
	provider, sizeField := sourceVM, ""
	switch {
	case in.Instancetype != nil:
		provider, sizeField = sourceInstancetype, "spec.instancetype"
	case in.Class != nil:
		provider, sizeField = sourceClass, "spec.className"
	}
	if required.CPU != nil {
		if have := vcpus(spec.CPU); have < int64(required.CPU.Guest) {
			found.add(RequirementProblem, orField(sizeField, cpuField(in.Preference)), fmt.Sprintf(
				"insufficient CPU resources of %d vCPU provided by %s, preference requires %d vCPU",
				have, provider, required.CPU.Guest))
		}
	}
	if required.Memory != nil && spec.Memory.Guest.Cmp(required.Memory.Guest) < 0 {
		found.add(RequirementProblem, orField(sizeField, "spec.memory.guest"), fmt.Sprintf(
			"insufficient Memory resources of %s provided by %s, preference requires %s",
			spec.Memory.Guest.String(), provider, required.Memory.Guest.String()))
	}
	if required.Architecture != nil {
		if have := Architecture(spec.GuestID); have != *required.Architecture {
			found.add(RequirementProblem, "spec.preference", fmt.Sprintf(
				"preference requires architecture %s but %s is being requested", *required.Architecture, have))
		}
	}
}

// Architecture is the CPU architecture of a guest, as Go and Kubernetes name
// it. vSphere's identifiers of guests on ESXi for Arm begin with arm.
func Architecture(guestID string) string {
	if strings.HasPrefix(guestID, "arm") {
		return "arm64"
	}
	return "amd64"
}

func orField(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// cpuField is the dimension in which a virtual machine that gives its size
// itself would add vCPUs.
func cpuField(pref *itv1alpha1.VirtualMachinePreferenceSpec) string {
	switch PreferredTopology(pref) {
	case itv1alpha1.Cores:
		return "spec.cpu.cores"
	case itv1alpha1.Threads:
		return "spec.cpu.threads"
	case itv1alpha1.Sockets:
		return "spec.cpu.sockets"
	default:
		return "spec.cpu"
	}
}
