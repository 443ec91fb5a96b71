// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// snapshotted is a VM with captured references, the spec that a snapshot of it
// holds, and the world in which the sources have changed or are gone since.
func snapshotted(t *testing.T, sourcesGone bool) (*world, *vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineSpec) {
	t.Helper()
	w := newWorld()
	vm := vmOf(t, "{instancetype: {name: small, kind: VirtualMachineClusterInstancetype}, preference: {inferFromVolume: image, inferFromVolumeFailurePolicy: Reject}, image: {name: boot}}")
	small := w.add(t, clusterIT, "small", "it-uid", 1, size(2))
	linux := w.add(t, clusterPref, "linux", "p-uid", 1, "{devices: {preferredTPM: {}}}")
	w.captured(t, vm, small)
	w.captured(t, vm, linux)
	vm.Status.PreferenceRef.InferFromVolume = "image"
	spec := instancetype.PinnedSpec(vm)
	if sourcesGone {
		w.remove(small)
		w.remove(linux)
	} else {
		w.add(t, clusterIT, "small", "it-uid", 2, size(8))
		w.add(t, clusterPref, "linux", "p-uid", 2, "{}")
	}
	return w, vm, spec
}

func TestPinnedSpecHoldsNamesKindsAndRevisions(t *testing.T) {
	_, vm, spec := snapshotted(t, false)
	want := vmOf(t, `{instancetype: {name: small, kind: virtualmachineclusterinstancetype, controllerRevisionRef: {name: vm-small-v1alpha1-it-uid-1}},
	  preference: {name: linux, kind: virtualmachineclusterpreference, inferFromVolume: image, inferFromVolumeFailurePolicy: Reject, controllerRevisionRef: {name: vm-linux-v1alpha1-p-uid-1}}, image: {name: boot}}`).Spec
	if diff := cmp.Diff(&want, spec, quantities); diff != "" {
		t.Errorf("F144 (-want +got):\n%s", diff)
	}
	if vm.Spec.Preference.Name != "" || vm.Spec.Instancetype.ControllerRevisionRef != nil {
		t.Error("F60 the spec of the VM was changed")
	}
}

func TestRestoreUsesTheSnapshottedRevisions(t *testing.T) {
	for name, gone := range map[string]bool{"F144 F147 source changed": false, "F144 F147 source deleted": true} {
		t.Run(name, func(t *testing.T) {
			w, vm, spec := snapshotted(t, gone)
			before, err := effectiveSpec(vm, w)
			if err != nil {
				t.Fatal(err)
			}
			restored := vmOf(t, "{}")
			restored.Spec = *spec
			after, err := effectiveSpec(restored, w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, after, quantities); diff != "" {
				t.Errorf("effective spec (-want +got):\n%s", diff)
			}
			itRef, prefRef, err := instancetype.RefsFromPins(spec)
			if err != nil {
				t.Fatal(err)
			}
			if itRef.Name != "small" || *itRef.ControllerRevisionRef != *vm.Status.InstancetypeRef.ControllerRevisionRef ||
				prefRef.Name != "linux" || prefRef.InferFromVolume != "image" || *prefRef.ControllerRevisionRef != *vm.Status.PreferenceRef.ControllerRevisionRef {
				t.Errorf("references %+v, %+v", itRef, prefRef)
			}
		})
	}
}

func TestCloneGetsItsOwnRevisions(t *testing.T) {
	for _, power := range []vmv1alpha1.PowerState{vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff} {
		w, _, spec := snapshotted(t, true)
		clone := vmOf(t, "{}")
		clone.Spec, clone.Name, clone.UID = *spec, "clone", "clone-uid"
		clone.Spec.PowerState = power
		out, adoptions, err := instancetype.Adopt(t.Context(), clone, nil, w)
		if err != nil || len(adoptions) != 2 {
			t.Fatalf("%d revisions to create, %v; want 2", len(adoptions), err)
		}
		olds := []*vmv1alpha1.ControllerRevisionRef{spec.Instancetype.ControllerRevisionRef, spec.Preference.ControllerRevisionRef}
		for i, m := range []*vmv1alpha1.ControllerRevisionRef{out.Spec.Instancetype.ControllerRevisionRef, out.Spec.Preference.ControllerRevisionRef} {
			own := adoptions[i].Revision
			if m.Name != own.Name || m.Name == olds[i].Name || !instancetype.OwnedBy(own, clone) || adoptions[i].Replaces != nil {
				t.Errorf("F145 pin %s, adoption %+v", m.Name, adoptions[i])
			}
			if equal, err := instancetype.EqualRevisions(own, w.revisions["default/"+olds[i].Name]); err != nil || !equal {
				t.Errorf("F145 the copy of %s is not equal: %v", olds[i].Name, err)
			}
			w.revisions["default/"+own.Name] = own
		}
		if again, adoptions, err := instancetype.Adopt(t.Context(), out, nil, w); err != nil || adoptions != nil || !cmp.Equal(out, again, quantities) {
			t.Errorf("F145 a second adoption makes %v, %v", adoptions, err)
		}
	}
}

func TestRestoreReplacesRevisionsThatAreNotThoseOfTheSnapshot(t *testing.T) {
	const name = "vm-small-v1alpha1-it-uid-1"
	// saved is what the snapshot keeps; change is what happened to the revision since.
	for _, tc := range []struct {
		name              string
		change            func(t *testing.T, w *world, restored *vmv1alpha1.VirtualMachine)
		creates, replaces bool
	}{
		{"F144 untouched", func(*testing.T, *world, *vmv1alpha1.VirtualMachine) {}, false, false},
		{"F146 other content", func(t *testing.T, w *world, vm *vmv1alpha1.VirtualMachine) {
			w.store(t, vm, w.add(t, clusterIT, "small", "it-uid", 1, size(8)))
		}, true, true},
		{"F146 content that cannot be read", func(_ *testing.T, w *world, _ *vmv1alpha1.VirtualMachine) {
			w.revisions["default/"+name].Data.Raw = []byte("{")
		}, true, true},
		{"F146 of a deleted virtual machine of the same name", func(_ *testing.T, _ *world, vm *vmv1alpha1.VirtualMachine) {
			vm.UID = "made-again"
		}, true, true},
		{"F147 gone", func(_ *testing.T, w *world, _ *vmv1alpha1.VirtualMachine) {
			delete(w.revisions, "default/"+name)
		}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm, spec := snapshotted(t, true)
			spec.Preference = nil
			saved := []*appsv1.ControllerRevision{w.revisions["default/"+name].DeepCopy()}
			restored := vm.DeepCopy()
			restored.Spec = *spec
			tc.change(t, w, restored)
			out, adoptions, err := instancetype.Adopt(t.Context(), restored, saved, w)
			if err != nil || out.Spec.Instancetype.ControllerRevisionRef.Name != name {
				t.Fatalf("%+v, %v; want the pin %s", out, err, name)
			}
			if (len(adoptions) == 1) != tc.creates || len(adoptions) > 1 {
				t.Fatalf("adoptions %+v, want one: %t", adoptions, tc.creates)
			}
			for _, a := range adoptions {
				if equal, err := instancetype.EqualRevisions(a.Revision, saved[0]); err != nil || !equal || !instancetype.OwnedBy(a.Revision, restored) {
					t.Errorf("revision %+v is not the restored VM's copy of the snapshot's: %v", a.Revision, err)
				}
				if (a.Replaces != nil) != tc.replaces || tc.replaces && a.Replaces != w.revisions["default/"+name] {
					t.Errorf("replaces %+v, want the existing one: %t", a.Replaces, tc.replaces)
				}
			}
		})
	}
}
