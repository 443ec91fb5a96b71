// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// shared is a namespace with two revisions of one instance type, of which its only
// virtual machine uses the newer.
type shared struct {
	old, current *itv1alpha1.ControllerRevision
	vms          []vmv1alpha1.VirtualMachine
	vmis         []vmv1alpha1.VirtualMachineInstance
	snapshots    []vmv1alpha1.VirtualMachineSnapshot
	revisions    []itv1alpha1.ControllerRevision
}

func newShared(t *testing.T) *shared {
	t.Helper()
	w := newWorld()
	vm := vmOf(t, "{instancetype: {name: small}}")
	s := &shared{
		old:     w.store(t, vm, w.add(t, instancetype.KindClusterInstancetype, "small", "uid", 1, size(1))),
		current: w.captured(t, vm, w.add(t, instancetype.KindClusterInstancetype, "small", "uid", 2, size(2))),
	}
	s.vms, s.revisions = []vmv1alpha1.VirtualMachine{*vm}, []itv1alpha1.ControllerRevision{*s.old, *s.current}
	return s
}

// another adds a second virtual machine.
func (s *shared) another(t *testing.T, spec string) *vmv1alpha1.VirtualMachine {
	vm := vmOf(t, spec)
	vm.Name, vm.UID = "another", "another"
	s.vms = append(s.vms, *vm)
	return &s.vms[len(s.vms)-1]
}

func (s *shared) keeps(revision *itv1alpha1.ControllerRevision) string {
	return instancetype.Keeps(revision, instancetype.Users{Machines: s.vms, Instances: s.vmis, Snapshots: s.snapshots}, s.revisions)
}

func TestKeeps_KeepsAReferencedRevision(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, s *shared)
		// old is a part of why the superseded revision stays, empty when it goes.
		old string
	}{
		{"F48 a superseded one goes", func(*testing.T, *shared) {}, ""},
		{"not while a snapshot needs it as the size", func(_ *testing.T, s *shared) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
			snapshot.Status.InstancetypeRevision = s.old.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, "snapshot before needs it"},
		{"not while a snapshot needs it as the preference", func(_ *testing.T, s *shared) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
			snapshot.Status.PreferenceRevision = s.old.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, "snapshot before needs it"},
		{"a snapshot that needs another", func(_ *testing.T, s *shared) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{}
			snapshot.Status.InstancetypeRevision = s.current.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, ""},
		{"F48 F141 not while an instance runs with it", func(_ *testing.T, s *shared) {
			vmi := vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}
			vmi.Spec.Instancetype = &vmv1alpha1.AppliedRevision{RevisionName: s.old.Name}
			s.vmis = append(s.vmis, vmi)
		}, "instance vm runs with it"},
		{"F48 not while spec pins it", func(_ *testing.T, s *shared) {
			s.vms[0].Spec.Instancetype.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: s.old.Name}
		}, "vm names it"},
		{"F48 not while another virtual machine pins it by the deprecated field", func(t *testing.T, s *shared) {
			s.another(t, "{preference: {revisionName: "+s.old.Name+"}}")
		}, "another names it"},
		{"F48 not while both fields pin, the one that is not obeyed included", func(t *testing.T, s *shared) {
			s.another(t, "{instancetype: {controllerRevisionRef: {name: x}, revisionName: "+s.old.Name+"}}")
		}, "another names it"},
		{"F48 not while the status of another virtual machine names it", func(t *testing.T, s *shared) {
			s.another(t, "{}").Status.PreferenceRef = &vmv1alpha1.PreferenceRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: s.old.Name}}
		}, "another names it"},
		{"F48 not while its object is captured anew", func(_ *testing.T, s *shared) {
			s.vms[0].Status.InstancetypeRef.ControllerRevisionRef = nil
		}, `vm has yet to capture virtualmachineclusterinstancetype "small" anew`},
		{"F48 whatever is captured of another object", func(t *testing.T, s *shared) {
			s.another(t, "{}").Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "big"}
		}, ""},
		{"F48 whatever another virtual machine has yet to capture for the first time", func(t *testing.T, s *shared) {
			s.another(t, "{instancetype: {name: small}}")
		}, ""},
		{"F47 F132 of a removed matcher it goes", func(_ *testing.T, s *shared) {
			s.vms[0].Spec.Instancetype, s.vms[0].Status.InstancetypeRef = nil, nil
		}, ""},
		{"F58 not before a virtual machine that names it is gone", func(_ *testing.T, s *shared) {
			s.vms[0].DeletionTimestamp = &metav1.Time{}
			s.vms[0].Status.InstancetypeRef.ControllerRevisionRef.Name = s.old.Name
		}, "vm names it"},
		{"F8 not while what a status names is not there", func(_ *testing.T, s *shared) {
			s.revisions = s.revisions[:1]
		}, "cannot be read"},
		{"F8 not while what a status names cannot be read", func(_ *testing.T, s *shared) {
			s.revisions[1].Data.Raw = []byte("{")
		}, "cannot be read"},
		{"F8 whatever spec pins that was never there", func(t *testing.T, s *shared) {
			s.another(t, "{instancetype: {revisionName: nonsense}}")
		}, ""},
		{"F135 old formats too", func(_ *testing.T, s *shared) { s.old.Labels = nil }, ""},
		{"one that cannot be read and that nobody names goes", func(_ *testing.T, s *shared) { s.old.Data.Raw = nil }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newShared(t)
			tc.change(t, s)
			if why := s.keeps(s.old); (why == "") != (tc.old == "") || !strings.Contains(why, tc.old) {
				t.Errorf("the superseded revision stays because %q, want %q", why, tc.old)
			}
		})
	}
}

func TestKeeps_KeepsARevisionUntilTheLastVMIsDeleted(t *testing.T) {
	s := newShared(t)
	if s.keeps(s.current) == "" {
		t.Error("F48 the revision that status names goes")
	}
	s.vms = nil
	if why := s.keeps(s.current); why != "" {
		t.Errorf("F58 with no virtual machine left it stays because %s", why)
	}
}

func TestAwaits_IsTrueAfterARefresh(t *testing.T) {
	s := newShared(t)
	if instancetype.Awaits(&s.vms[0]) {
		t.Error("one that has captured awaits a capture")
	}
	refreshed := instancetype.ClearPins(&s.vms[0], it)
	if !instancetype.Awaits(refreshed) {
		t.Error("one that was refreshed awaits none")
	}
	refreshed.DeletionTimestamp = &metav1.Time{}
	if instancetype.Awaits(refreshed) {
		t.Error("one that is being deleted awaits a capture")
	}
}
