// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Names of the source of the size in messages.
const (
	sourceInstancetype = "instance type"
	sourceClass        = "class"
	sourceVM           = "VirtualMachine"
)

// Inputs are the objects that are combined with the spec of a virtual machine. At most one of Class and Instancetype is
// set.
type Inputs struct {
	// Class has the size if the virtual machine specifies a class.
	Class *vmv1alpha1.VirtualMachineClass
	// Instancetype has the size if the virtual machine specifies an instance type.
	Instancetype *itv1alpha1.VirtualMachineInstancetypeSpec
	// Preference has values for unset fields.
	Preference *itv1alpha1.VirtualMachinePreferenceSpec
	// InstancetypeRevision is recorded in the effective spec.
	InstancetypeRevision *vmv1alpha1.AppliedRevision
	// PreferenceRevision is recorded in the effective spec.
	PreferenceRevision *vmv1alpha1.AppliedRevision
}

// Effective returns the effective spec of vm, or an *Error with all problems.
func Effective(vm *vmv1alpha1.VirtualMachine, in Inputs) (*vmv1alpha1.VirtualMachineInstanceSpec, error) {
	var found problems
	spec := base(&vm.Spec)
	spec.Instancetype = copyRevision(in.InstancetypeRevision)
	spec.Preference = copyRevision(in.PreferenceRevision)

	switch {
	case in.Instancetype != nil:
		applyInstancetype(spec, vm, in.Instancetype, in.Preference, &found)
	case in.Class != nil:
		applyClass(spec, &vm.Spec, in.Class, &found)
	default:
		checkInline(&vm.Spec, &found)
	}
	// After a conflict the size is not known, but the requirements of the preference can still be checked.
	if len(found) == 0 {
		if in.Preference != nil {
			applyPreference(spec, vm, in.Preference)
		}
		applyDefaults(spec, in.Preference)
		checkLimit(spec, in, &found)
		if in.Instancetype != nil {
			checkCeilings(spec, &vm.Spec, &found)
		}
	}
	if in.Preference != nil {
		checkRequirements(spec, in, &found)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return spec, nil
}

// base copies the fields that the effective spec has in common with the spec.
func base(in *vmv1alpha1.VirtualMachineSpec) *vmv1alpha1.VirtualMachineInstanceSpec {
	spec := &vmv1alpha1.VirtualMachineInstanceSpec{
		ClassName:          in.ClassName,
		CPU:                in.CPU.DeepCopy(),
		Memory:             in.Memory.DeepCopy(),
		Image:              in.Image.DeepCopy(),
		StorageClass:       in.StorageClass,
		BootDisk:           in.BootDisk.DeepCopy(),
		BootOrder:          slices.Clone(in.BootOrder),
		Network:            in.Network.DeepCopy(),
		Bootstrap:          in.Bootstrap.DeepCopy(),
		Firmware:           in.Firmware.DeepCopy(),
		Devices:            in.Devices.DeepCopy(),
		MinHardwareVersion: in.MinHardwareVersion,
		GuestID:            in.GuestID,
	}
	if in.TerminationGracePeriodSeconds != nil {
		seconds := *in.TerminationGracePeriodSeconds
		spec.TerminationGracePeriodSeconds = &seconds
	}
	if in.Volumes != nil {
		spec.Volumes = make([]vmv1alpha1.VirtualMachineVolume, len(in.Volumes))
		for i := range in.Volumes {
			in.Volumes[i].DeepCopyInto(&spec.Volumes[i])
		}
	}
	if spec.CPU == nil {
		spec.CPU = &vmv1alpha1.VirtualMachineCPU{}
	}
	if spec.Memory == nil {
		spec.Memory = &vmv1alpha1.VirtualMachineMemory{}
	}
	return spec
}

func copyRevision(in *vmv1alpha1.AppliedRevision) *vmv1alpha1.AppliedRevision {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// applyInstancetype applies all fields of an instance type. The preference determines only the CPU topology.
func applyInstancetype(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	vm *vmv1alpha1.VirtualMachine,
	it *itv1alpha1.VirtualMachineInstancetypeSpec,
	pref *itv1alpha1.VirtualMachinePreferenceSpec,
	found *problems,
) {
	if vm.Spec.ClassName != "" {
		found.add(ConflictProblem, "spec.className", "className and instancetype are mutually exclusive")
	}
	applyNodeSelector(spec, it)
	applyCPU(spec.CPU, vm.Spec.CPU, it, pref, found)
	applyMemory(spec.Memory, vm.Spec.Memory, it, found)
	applyHostDevices(spec, vm.Spec.Devices, it, found)
	applyAnnotations(spec, vm.Annotations, it, found)
}

// applyNodeSelector copies the node selector. Virtual machines have no such field, so there are no conflicts.
func applyNodeSelector(spec *vmv1alpha1.VirtualMachineInstanceSpec, it *itv1alpha1.VirtualMachineInstancetypeSpec) {
	if len(it.NodeSelector) == 0 {
		return
	}
	spec.NodeSelector = make(map[string]string, len(it.NodeSelector))
	for k, v := range it.NodeSelector {
		spec.NodeSelector[k] = v
	}
}
