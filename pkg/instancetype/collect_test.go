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

// sharedRevisions is a namespace with two revisions of one instance type. Its only virtual machine uses the newer one.
type sharedRevisions struct {
	old, current *itv1alpha1.ControllerRevision
	vms          []vmv1alpha1.VirtualMachine
	vmis         []vmv1alpha1.VirtualMachineInstance
	snapshots    []vmv1alpha1.VirtualMachineSnapshot
	revisions    []itv1alpha1.ControllerRevision
}

func newSharedRevisions(t *testing.T) *sharedRevisions {
	t.Helper()
	w := newFakeReader()
	vm := vmOf(t, "{instancetype: {name: small}}")
	s := &sharedRevisions{
		old:     w.store(t, vm, w.add(t, instancetype.KindClusterInstancetype, "small", "uid", 1, size(1))),
		current: w.pin(t, vm, w.add(t, instancetype.KindClusterInstancetype, "small", "uid", 2, size(2))),
	}
	s.vms, s.revisions = []vmv1alpha1.VirtualMachine{*vm}, []itv1alpha1.ControllerRevision{*s.old, *s.current}
	return s
}

// another adds a second virtual machine.
func (s *sharedRevisions) another(t *testing.T, spec string) *vmv1alpha1.VirtualMachine {
	vm := vmOf(t, spec)
	vm.Name, vm.UID = "another", "another"
	s.vms = append(s.vms, *vm)
	return &s.vms[len(s.vms)-1]
}

func (s *sharedRevisions) reasonToKeep(revision *itv1alpha1.ControllerRevision) string {
	return instancetype.ReasonToKeep(revision, instancetype.Users{Machines: s.vms, Instances: s.vmis, Snapshots: s.snapshots}, s.revisions)
}

func TestReasonToKeep_KeepsAReferencedRevision(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, s *sharedRevisions)
		// old is a part of the reason why the superseded revision is kept; empty if it is deleted.
		old string
	}{
		{"F48 a superseded revision is deleted", func(*testing.T, *sharedRevisions) {}, ""},
		{"kept while a snapshot uses it as the size", func(_ *testing.T, s *sharedRevisions) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
			snapshot.Status.InstancetypeRevision = s.old.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, "used by snapshot before"},
		{"kept while a snapshot uses it as the preference", func(_ *testing.T, s *sharedRevisions) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
			snapshot.Status.PreferenceRevision = s.old.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, "used by snapshot before"},
		{"a snapshot that uses another revision", func(_ *testing.T, s *sharedRevisions) {
			snapshot := vmv1alpha1.VirtualMachineSnapshot{}
			snapshot.Status.InstancetypeRevision = s.current.Name
			s.snapshots = append(s.snapshots, snapshot)
		}, ""},
		{"F48 F141 kept while an instance uses it", func(_ *testing.T, s *sharedRevisions) {
			vmi := vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}
			vmi.Spec.Instancetype = &vmv1alpha1.AppliedRevision{RevisionName: s.old.Name}
			s.vmis = append(s.vmis, vmi)
		}, "used by virtual machine instance vm"},
		{"F48 kept while spec refers to it", func(_ *testing.T, s *sharedRevisions) {
			s.vms[0].Spec.Instancetype.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: s.old.Name}
		}, "used by virtual machine vm"},
		{"F48 kept while another VM refers to it in the deprecated field", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{preference: {revisionName: "+s.old.Name+"}}")
		}, "used by virtual machine another"},
		{"F48 kept while one of the two fields refers to it, even if that field is ignored", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{instancetype: {controllerRevisionRef: {name: x}, revisionName: "+s.old.Name+"}}")
		}, "used by virtual machine another"},
		{"F48 kept while the status of another VM has it", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{}").Status.PreferenceRef = &vmv1alpha1.PreferenceRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: s.old.Name}}
		}, "used by virtual machine another"},
		{"F48 kept while a new revision of its object is pending", func(_ *testing.T, s *sharedRevisions) {
			s.vms[0].Status.InstancetypeRef.ControllerRevisionRef = nil
		}, `vm waits for a new revision of virtualmachineclusterinstancetype "small"`},
		{"F48 deleted while a revision of another object is pending", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{}").Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "big"}
		}, ""},
		{"F48 deleted while another VM waits for its first revision", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{instancetype: {name: small}}")
		}, ""},
		{"F47 F132 deleted after the matcher was removed", func(_ *testing.T, s *sharedRevisions) {
			s.vms[0].Spec.Instancetype, s.vms[0].Status.InstancetypeRef = nil, nil
		}, ""},
		{"F58 kept until a VM that refers to it is deleted", func(_ *testing.T, s *sharedRevisions) {
			s.vms[0].DeletionTimestamp = &metav1.Time{}
			s.vms[0].Status.InstancetypeRef.ControllerRevisionRef.Name = s.old.Name
		}, "used by virtual machine vm"},
		{"F8 kept while the revision in a status does not exist", func(_ *testing.T, s *sharedRevisions) {
			s.revisions = s.revisions[:1]
		}, "cannot be read"},
		{"F8 kept while the revision in a status cannot be read", func(_ *testing.T, s *sharedRevisions) {
			s.revisions[1].Data.Raw = []byte("{")
		}, "cannot be read"},
		{"F8 deleted although the revision in a spec never existed", func(t *testing.T, s *sharedRevisions) {
			s.another(t, "{instancetype: {revisionName: nonsense}}")
		}, ""},
		{"F135 a revision in an old format", func(_ *testing.T, s *sharedRevisions) { s.old.Labels = nil }, ""},
		{"an unreadable revision without a reference is deleted", func(_ *testing.T, s *sharedRevisions) { s.old.Data.Raw = nil }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSharedRevisions(t)
			tc.change(t, s)
			if why := s.reasonToKeep(s.old); (why == "") != (tc.old == "") || !strings.Contains(why, tc.old) {
				t.Errorf("the superseded revision is kept because %q, want %q", why, tc.old)
			}
		})
	}
}

func TestReasonToKeep_KeepsARevisionUntilTheLastVMIsDeleted(t *testing.T) {
	s := newSharedRevisions(t)
	if s.reasonToKeep(s.current) == "" {
		t.Error("F48 the revision in status is not kept")
	}
	s.vms = nil
	if why := s.reasonToKeep(s.current); why != "" {
		t.Errorf("F58 without virtual machines it is kept because %s", why)
	}
}

func TestAwaitsRevision_IsTrueAfterARefresh(t *testing.T) {
	s := newSharedRevisions(t)
	if instancetype.AwaitsRevision(&s.vms[0]) {
		t.Error("a VM with a revision in status waits for one")
	}
	refreshed := instancetype.ClearPins(&s.vms[0], it)
	if !instancetype.AwaitsRevision(refreshed) {
		t.Error("a refreshed VM does not wait for a revision")
	}
	refreshed.DeletionTimestamp = &metav1.Time{}
	if instancetype.AwaitsRevision(refreshed) {
		t.Error("a VM that is being deleted waits for a revision")
	}
}
