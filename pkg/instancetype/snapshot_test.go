// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// snapshotted returns a VM with revisions in status, the spec that a snapshot of it contains, and a reader in which the
// sources have changed or were deleted since then.
func snapshotted(t *testing.T, sourcesGone bool) (*fakeReader, *vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineSpec) {
	t.Helper()
	w := newFakeReader()
	vm := vmOf(t, "{instancetype: {name: small, kind: VirtualMachineClusterInstancetype}, preference: {inferFromVolume: image, inferFromVolumeFailurePolicy: Reject}, image: {name: boot}}")
	small := w.add(t, clusterIT, "small", "it-uid", 1, size(2))
	linux := w.add(t, clusterPref, "linux", "p-uid", 1, "{devices: {preferredTPM: {}}}")
	w.pin(t, vm, small)
	w.pin(t, vm, linux)
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

func TestPinnedSpec_HasNamesKindsAndRevisions(t *testing.T) {
	_, vm, spec := snapshotted(t, false)
	want := vmOf(t, `{instancetype: {name: small, kind: virtualmachineclusterinstancetype, controllerRevisionRef: {name: small-v1alpha1-it-uid-1}},
	  preference: {name: linux, kind: virtualmachineclusterpreference, inferFromVolume: image, inferFromVolumeFailurePolicy: Reject, controllerRevisionRef: {name: linux-v1alpha1-p-uid-1}}, image: {name: boot}}`).Spec
	if diff := cmp.Diff(&want, spec, quantities); diff != "" {
		t.Errorf("F144 (-want +got):\n%s", diff)
	}
	if vm.Spec.Preference.Name != "" || vm.Spec.Instancetype.ControllerRevisionRef != nil {
		t.Error("F60 the spec of the VM has changed")
	}
}

func TestAdopt_UsesTheRevisionsOfTheSnapshot(t *testing.T) {
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
		})
	}
}

// A clone in the same namespace shares the revisions. In another namespace they must be created.
func TestAdopt_CreatesRevisionsForAClone(t *testing.T) {
	for _, power := range []vmv1alpha1.PowerState{vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff} {
		w, original, spec := snapshotted(t, true)
		var saved []*itv1alpha1.ControllerRevision
		for _, role := range []instancetype.Role{it, pref} {
			saved = append(saved, w.revisions["default/"+instancetype.StatusRef(original, role).ControllerRevisionRef.Name])
		}
		clone := vmOf(t, "{}")
		clone.Spec, clone.Name, clone.UID = *spec, "clone", "clone-uid"
		clone.Spec.PowerState = power
		if out, missing, err := instancetype.Adopt(t.Context(), clone, nil, w); err != nil || missing != nil || !cmp.Equal(clone, out, quantities) {
			t.Errorf("F145 in its own namespace: missing %v, %v; want none", missing, err)
		}
		clone.Namespace = "elsewhere"
		out, missing, err := instancetype.Adopt(t.Context(), clone, saved, w)
		if err != nil || len(missing) != 2 {
			t.Fatalf("F145 %d missing revisions, %v; want 2", len(missing), err)
		}
		for i, m := range []*vmv1alpha1.ControllerRevisionRef{out.Spec.Instancetype.ControllerRevisionRef, out.Spec.Preference.ControllerRevisionRef} {
			if m.Name != missing[i].Name || missing[i].Namespace != "elsewhere" {
				t.Errorf("F145 reference %s, revision %+v", m.Name, missing[i])
			}
			if err := instancetype.CheckSameContent(missing[i], saved[i]); err != nil {
				t.Errorf("F145 the copy of %s: %v", saved[i].Name, err)
			}
			w.revisions["elsewhere/"+missing[i].Name] = missing[i]
		}
		if again, missing, err := instancetype.Adopt(t.Context(), out, nil, w); err != nil || missing != nil || !cmp.Equal(out, again, quantities) {
			t.Errorf("F145 a second time: missing %v, %v", missing, err)
		}
	}
}

func TestAdopt_RestoresTheRevisionsOfTheSnapshot(t *testing.T) {
	const name = "small-v1alpha1-it-uid-1"
	// saved is the revision in the snapshot. change is a later change of the revision.
	for _, tc := range []struct {
		name    string
		change  func(t *testing.T, w *fakeReader, restored *vmv1alpha1.VirtualMachine)
		creates bool
		want    string
	}{
		{"F144 untouched", func(*testing.T, *fakeReader, *vmv1alpha1.VirtualMachine) {}, false, ""},
		{"F146 other content", func(t *testing.T, w *fakeReader, vm *vmv1alpha1.VirtualMachine) {
			w.store(t, vm, w.add(t, clusterIT, "small", "it-uid", 1, size(8)))
		}, false, "unexpected data"},
		{"F146 content that cannot be read", func(_ *testing.T, w *fakeReader, _ *vmv1alpha1.VirtualMachine) {
			w.revisions["default/"+name].Data.Raw = []byte("{")
		}, false, "cannot be used"},
		{"F146 a recreated VM of the same name", func(_ *testing.T, _ *fakeReader, vm *vmv1alpha1.VirtualMachine) {
			vm.UID = "made-again"
		}, false, ""},
		{"F147 deleted", func(_ *testing.T, w *fakeReader, _ *vmv1alpha1.VirtualMachine) {
			delete(w.revisions, "default/"+name)
		}, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm, spec := snapshotted(t, true)
			spec.Preference = nil
			saved := []*itv1alpha1.ControllerRevision{w.revisions["default/"+name].DeepCopy()}
			restored := vm.DeepCopy()
			restored.Spec = *spec
			tc.change(t, w, restored)
			out, missing, err := instancetype.Adopt(t.Context(), restored, saved, w)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want one with %q", err, tc.want)
				}
				return
			}
			if err != nil || out.Spec.Instancetype.ControllerRevisionRef.Name != name {
				t.Fatalf("%+v, %v; want a reference to %s", out, err, name)
			}
			if (len(missing) == 1) != tc.creates || len(missing) > 1 {
				t.Fatalf("missing revisions %+v, want a new revision: %t", missing, tc.creates)
			}
			for _, revision := range missing {
				if err := instancetype.CheckSameContent(revision, saved[0]); err != nil {
					t.Errorf("different from the snapshot: %v", err)
				}
			}
		})
	}
}
