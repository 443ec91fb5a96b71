// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
			before, err := instancetype.Effective(vm, w)
			if err != nil {
				t.Fatal(err)
			}
			restored := vmOf(t, "{}")
			restored.Spec = *spec
			after, err := instancetype.Effective(restored, w)
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
	w, _, spec := snapshotted(t, true)
	clone := vmOf(t, "{}")
	clone.Spec, clone.Name, clone.UID = *spec, "clone", "clone-uid"
	out, create, err := instancetype.Adopt(clone, w)
	if err != nil || len(create) != 2 {
		t.Fatalf("%d revisions to create, %v; want 2", len(create), err)
	}
	for i, m := range []*vmv1alpha1.ControllerRevisionRef{out.Spec.Instancetype.ControllerRevisionRef, out.Spec.Preference.ControllerRevisionRef} {
		if m.Name != create[i].Name || !instancetype.OwnedBy(create[i], clone) {
			t.Errorf("F145 pin %s, revision %s with owners %v", m.Name, create[i].Name, create[i].OwnerReferences)
		}
		w.revisions["default/"+create[i].Name] = create[i]
	}
	equal, err := instancetype.EqualRevisions(create[0], w.revisions["default/"+spec.Instancetype.ControllerRevisionRef.Name])
	if err != nil || !equal {
		t.Errorf("F145 the copy is not equal: %v", err)
	}
	if again, create, err := instancetype.Adopt(out, w); err != nil || create != nil || !cmp.Equal(out, again, quantities) {
		t.Errorf("F145 a second adoption makes %v, %v", create, err)
	}
}
