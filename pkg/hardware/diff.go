// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

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

// Diff lists what differs between the effective spec that a virtual machine
// runs with and the one that it should have, in a fixed order. Not compared is
// what matters only when a virtual machine is made (image, provisioning of disks,
// bootstrap), what names the source (references, class) and what means nothing
// (CPU model).
//
// Effects are those that the vSphere provider has. Live are: sockets and memory
// that grow within the ceiling while hot-add is on, the ceilings themselves,
// reservations, limits and shares, adapters that are added, removed or moved to another
// network, disks that are added, grow, get another class or are given up, media of CD-ROM
// drives, annotations and the grace period. None has what vSphere never changes on a virtual machine that
// exists: what is no longer asked for and does no harm, the controller of a disk,
// the video card, the host. The rest needs a power cycle.
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

// Stage divides what differs. The target is the running spec with everything
// that may change now: what the virtual machine is to be reconfigured to while
// it runs, and then runs with. Pending is what waits for a power cycle. With
// the strategy Stage everything waits, as do always the paths in waiting, which
// the hardware was found to refuse.
func Stage(
	running, desired *Spec, strategy vmv1alpha1.UpdateStrategy, waiting ...string,
) (*Spec, []vmv1alpha1.RestartRequirement) {
	spec := running.DeepCopy()
	if spec == nil {
		spec = &Spec{}
	}
	// The parts of target are those of spec; the parts that spec lacks are new.
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
		// All of the desired sources is in effect.
		target.Instancetype, target.Preference, target.ClassName = wanted.Instancetype, wanted.Preference, wanted.ClassName
	}
	return target.without(spec), pending
}

// assign copies the field at path, which can change live.
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
