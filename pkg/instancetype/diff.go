// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Difference is one field in which two effective specs differ.
type Difference struct {
	// Path of the field in the effective spec, for example cpu.sockets.
	Path string
	// Old is the value of the running spec, empty when unset.
	Old string
	// New is the value of the desired spec, empty when unset.
	New string
	// Effect says when a running virtual machine takes the new value: at once, with
	// a power cycle, or not at all.
	Effect vmv1alpha1.RefreshEffect
}

const (
	live    = vmv1alpha1.RefreshEffectLive
	restart = vmv1alpha1.RefreshEffectRestart
	none    = vmv1alpha1.RefreshEffectNone
)

// Diff lists what differs between the effective spec that a virtual machine
// runs with and the one that it should have, in a fixed order. Not compared is
// what matters only when a virtual machine is made (image, storage class,
// bootstrap), what names the source (references, class) and what means nothing
// (CPU model).
//
// Effects are those that the vSphere provider has. Live are: sockets and memory
// that grow within the ceiling while hot-add is on, the ceilings themselves,
// reservations, limits and shares, disks that are added or grow, annotations and
// the grace period. None has what vSphere never changes on a virtual machine that
// exists: what is no longer asked for and does no harm, the controller of a disk,
// the video card, the host. The rest needs a power cycle.
func Diff(running, desired *vmv1alpha1.VirtualMachineInstanceSpec) []Difference {
	running, desired = complete(running), complete(desired)
	var out []Difference
	for i := range sizeFields {
		f := &sizeFields[i]
		if before, after := f.value(running), f.value(desired); before != after {
			out = append(out, Difference{Path: f.path, Old: before, New: after, Effect: f.effect(running, desired)})
		}
	}
	out = append(out, diffHardware(running, desired)...)
	return append(out, diffMetadata(running, desired)...)
}

// Stage divides what differs. The target is the running spec with everything
// that may change now: what the virtual machine is to be reconfigured to while
// it runs, and then runs with. Pending is what waits for a power cycle. With
// the strategy Stage everything waits, as do always the paths in waiting, which
// the hardware was found to refuse.
func Stage(
	running, desired *vmv1alpha1.VirtualMachineInstanceSpec, strategy vmv1alpha1.UpdateStrategy, waiting ...string,
) (*vmv1alpha1.VirtualMachineInstanceSpec, []vmv1alpha1.RestartRequirement) {
	target, desired := complete(running).DeepCopy(), complete(desired)
	var pending []vmv1alpha1.RestartRequirement
	for _, d := range Diff(running, desired) {
		switch {
		case d.Effect == none:
		case d.Effect == live && strategy != vmv1alpha1.UpdateStrategyStage && !slices.Contains(waiting, d.Path):
			assign(target, desired, d.Path)
		default:
			pending = append(pending, vmv1alpha1.RestartRequirement{Path: d.Path, Running: d.Old, Desired: d.New})
		}
	}
	if len(pending) == 0 {
		// All of the desired sources is in effect.
		sources := desired.DeepCopy()
		target.Instancetype, target.Preference, target.ClassName = sources.Instancetype, sources.Preference, sources.ClassName
	}
	return target, pending
}

// complete returns spec with the parts that are looked into present.
func complete(spec *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineInstanceSpec {
	if spec == nil {
		spec = &vmv1alpha1.VirtualMachineInstanceSpec{}
	}
	if spec.CPU != nil && spec.Memory != nil {
		return spec
	}
	out := *spec
	if out.CPU == nil {
		out.CPU = &vmv1alpha1.VirtualMachineCPU{}
	}
	if out.Memory == nil {
		out.Memory = &vmv1alpha1.VirtualMachineMemory{}
	}
	return &out
}
