// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Difference is a field in which two effective specs differ.
type Difference struct {
	// Path of the field in the effective spec, for example cpu.sockets.
	Path string
	// Old is the value of the running spec, empty when unset.
	Old string
	// New is the value of the desired spec, empty when unset.
	New string
	// Effect is the time when the new value takes effect on a running virtual machine: immediately, with a power cycle,
	// or never.
	Effect vmv1alpha1.RefreshEffect
}

// Diff returns the differences between the running and the desired effective spec, in a fixed order. It does not
// compare fields that matter only for a create (image, disk provisioning, bootstrap), references to sources (class,
// instance type, preference), or fields without a meaning in vSphere (CPU model).
//
// The effects are those of the vSphere provider. The following changes are Live:
//
//   - sockets and memory, if they grow within the maximum while hot-add is enabled, and the maximums themselves
//   - reservations, limits and shares
//   - network adapters that are added, removed or moved to another network
//   - disks that are added, grow, get another storage class or are detached
//   - the media of CD-ROM drives
//   - annotations and the grace period
//
// The effect is None for settings that vSphere never changes on an existing virtual machine: optional settings that are
// no longer requested, the controller of a disk, the video card, and the host. All other changes need a power cycle.
func Diff(running, desired *Spec) []Difference {
	return diff(StateOf(running), StateOf(desired))
}

func diff(running, desired *State) []Difference {
	var out []Difference
	for i := range Fields {
		f := &Fields[i]
		if f.Value(running) != f.Value(desired) {
			out = append(out, Difference{Path: f.Path, Old: f.print(running), New: f.print(desired), Effect: f.Effect(running, desired)})
		}
	}
	return append(append(out, diffInterfaces(running, desired)...), diffVolumes(running, desired)...)
}

// Stage divides the differences. The returned spec is the running spec with all changes that can be applied now. The
// virtual machine is reconfigured to the returned spec while it runs. The requirements are the changes that wait for a
// power cycle. With the strategy Stage all changes wait. Paths in waiting always wait, because the hardware has
// rejected them.
func Stage(
	running, desired *Spec, strategy vmv1alpha1.UpdateStrategy, waiting ...string,
) (*Spec, []vmv1alpha1.RestartRequirement) {
	spec := running.DeepCopy()
	if spec == nil {
		spec = &Spec{}
	}
	// target shares the parts of spec; parts that spec lacks are new.
	target, wanted := StateOf(spec), StateOf(desired.DeepCopy())
	var pending []vmv1alpha1.RestartRequirement
	for _, d := range diff(StateOf(running), wanted) {
		switch {
		case d.Effect == none:
		case d.Effect == live && strategy != vmv1alpha1.UpdateStrategyStage && !slices.Contains(waiting, d.Path):
			assign(target, wanted, d.Path)
		default:
			pending = append(pending, vmv1alpha1.RestartRequirement{Path: d.Path, Running: d.Old, Desired: d.New})
		}
	}
	if len(pending) == 0 {
		// All changes are in effect, so the desired sources are too.
		target.Instancetype, target.Preference, target.ClassName = wanted.Instancetype, wanted.Preference, wanted.ClassName
	}
	return target.withoutEmptyParts(spec), pending
}

// assign copies the field at path, whose effect is Live.
func assign(target, desired *State, path string) {
	if f := fieldOf(path); f != nil {
		f.Copy(target, desired)
		return
	}
	if name, ok := interfaceOf(path); ok {
		assignInterface(target, desired, name)
		return
	}
	if name, ok := volumeOf(path); ok {
		assignVolume(target, name, volumeNamed(desired, name))
	}
}
