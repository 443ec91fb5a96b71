// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// owned is a virtual machine with a superseded and a current revision, and who else
// may name them.
type owned struct {
	vm     *vmv1alpha1.VirtualMachine
	vmi    *vmv1alpha1.VirtualMachineInstance
	owned  []*appsv1.ControllerRevision
	others []vmv1alpha1.VirtualMachine
	keep   []string
}

// old is the name of the superseded revision.
func (w *owned) old() string { return w.owned[0].Name }

// anotherVM is a second virtual machine of the namespace.
func anotherVM(t testing.TB, spec string) *vmv1alpha1.VirtualMachine {
	vm := vmOf(t, spec)
	vm.Name, vm.UID = "another", "another"
	return vm
}

func (w *owned) with(other *vmv1alpha1.VirtualMachine) { w.others = append(w.others, *other) }

// unreferencedCase says which of the two revisions are unreferenced after a change.
type unreferencedCase struct {
	name   string
	change func(t *testing.T, w *owned)
	want   []int
}

func checkUnreferenced(t *testing.T, cases []unreferencedCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			all := newWorld()
			vm := vmOf(t, "{instancetype: {name: small}}")
			old := all.store(t, vm, all.add(t, instancetype.KindClusterInstancetype, "small", "uid", 1, size(1)))
			current := all.captured(t, vm, all.add(t, instancetype.KindClusterInstancetype, "small", "uid", 2, size(2)))
			w := &owned{vm: vm, owned: []*appsv1.ControllerRevision{old, current}}
			tc.change(t, w)
			var want []string
			for _, i := range tc.want {
				want = append(want, w.owned[i].Name)
			}
			if diff := cmp.Diff(want, instancetype.Unreferenced(w.vm, w.vmi, w.owned, w.others, w.keep...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreferenced(t *testing.T) {
	checkUnreferenced(t, []unreferencedCase{
		{"F48 a superseded revision", func(*testing.T, *owned) {}, []int{0}},
		{"F48 F141 not while the running instance uses it", func(_ *testing.T, w *owned) {
			w.vmi = &vmv1alpha1.VirtualMachineInstance{}
			w.vmi.Spec.Instancetype = &vmv1alpha1.AppliedRevision{RevisionName: w.old()}
		}, nil},
		{"F48 not while spec pins it", func(_ *testing.T, w *owned) {
			w.vm.Spec.Instancetype.RevisionName = w.old()
		}, nil},
		{"F48 not while somebody else keeps it", func(_ *testing.T, w *owned) { w.keep = []string{w.old()} }, nil},
		{"F48 nothing while a capture is outstanding", func(_ *testing.T, w *owned) {
			w.vm.Status.InstancetypeRef.ControllerRevisionRef = nil
		}, nil},
		{"F48 nothing before the first status", func(_ *testing.T, w *owned) { w.vm.Status.InstancetypeRef = nil }, nil},
		{"F47 F132 all once the matcher is removed", func(_ *testing.T, w *owned) {
			w.vm.Spec.Instancetype, w.vm.Status.InstancetypeRef = nil, nil
		}, []int{0, 1}},
		{"never a revision of another virtual machine", func(_ *testing.T, w *owned) { w.vm.UID = "another" }, nil},
		{"never a revision of something else", func(_ *testing.T, w *owned) {
			w.owned[0].Labels, w.owned[0].Data.Raw = nil, []byte(`{"spec":{}}`)
		}, nil},
		{"F135 old formats too", func(_ *testing.T, w *owned) { w.owned[0].Labels = nil }, []int{0}},
	})
}

func TestUnreferencedAmongOthers(t *testing.T) {
	checkUnreferenced(t, []unreferencedCase{
		{"F48 not while another virtual machine pins it", func(t *testing.T, w *owned) {
			w.with(anotherVM(t, "{instancetype: {controllerRevisionRef: {name: "+w.old()+"}}}"))
		}, nil},
		{"F48 not while another virtual machine pins it by the deprecated field", func(t *testing.T, w *owned) {
			w.with(anotherVM(t, "{preference: {revisionName: "+w.old()+"}}"))
		}, nil},
		{"F48 not while the status of another virtual machine names it", func(t *testing.T, w *owned) {
			other := anotherVM(t, "{instancetype: {name: small}}")
			other.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: w.old()}}
			w.with(other)
		}, nil},
		{"F48 whatever another virtual machine has yet to capture", func(t *testing.T, w *owned) {
			w.with(anotherVM(t, "{instancetype: {name: small}}"))
		}, []int{0}},
		{"F48 not what an older copy of itself names", func(t *testing.T, w *owned) {
			older := w.vm.DeepCopy()
			older.Status.InstancetypeRef.ControllerRevisionRef.Name = w.old()
			w.with(older)
		}, []int{0}},
		{"F47 F132 of a removed matcher only what nobody else names", func(t *testing.T, w *owned) {
			w.vm.Spec.Instancetype, w.vm.Status.InstancetypeRef = nil, nil
			w.with(anotherVM(t, "{instancetype: {revisionName: "+w.old()+"}}"))
		}, []int{1}},
		{"one that it owns beside another virtual machine", func(t *testing.T, w *owned) {
			revision := w.owned[0]
			revision.OwnerReferences = nil
			instancetype.AddOwner(revision, anotherVM(t, "{}"))
			instancetype.AddOwner(revision, w.vm)
		}, []int{0}},
		{"F58 of one that is being deleted all, whatever it names itself", func(_ *testing.T, w *owned) {
			w.vm.DeletionTimestamp = &metav1.Time{}
		}, []int{0, 1}},
		{"F58 of one that is being deleted only what nobody else names", func(t *testing.T, w *owned) {
			w.vm.DeletionTimestamp = &metav1.Time{}
			w.with(anotherVM(t, "{instancetype: {revisionName: "+w.old()+"}}"))
		}, []int{1}},
	})
}

func TestFirstOwnerOfARevisionControlsIt(t *testing.T) {
	revision := &appsv1.ControllerRevision{}
	first, second := vmOf(t, "{}"), vmOf(t, "{}")
	second.Name, second.UID = "second", "second"
	if !instancetype.AddOwner(revision, first) || !instancetype.AddOwner(revision, second) || instancetype.AddOwner(revision, second) {
		t.Error("an owner was not added, or added twice")
	}
	if controller := metav1.GetControllerOf(revision); controller == nil || controller.UID != first.UID {
		t.Errorf("controller %v, want the first owner", controller)
	}
	if !instancetype.OwnedBy(revision, first) || !instancetype.OwnedBy(revision, second) || len(revision.OwnerReferences) != 2 {
		t.Errorf("owners %v, want both", revision.OwnerReferences)
	}
}
