// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// revision stores a revision of an instance type with these owners.
func (h *harness) revision(name string, owners ...*vmv1alpha1.VirtualMachine) {
	h.t.Helper()
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-x",
		Labels: map[string]string{instancetype.LabelObjectUID: "u", instancetype.LabelObjectKind: string(instancetype.KindInstancetype)}}}
	for _, vm := range owners {
		instancetype.AddOwner(r, vm)
	}
	if _, err := h.revisions.Create(context.Background(), r); err != nil {
		h.t.Fatal(err)
	}
	if err := h.revisions.informer.GetIndexer().Add(r); err != nil {
		h.t.Fatal(err)
	}
}

// revisionsLeft tells which of the names are still there.
func (h *harness) revisionsLeft(names ...string) []string {
	h.t.Helper()
	var left []string
	for _, name := range names {
		if _, err := h.revisions.Get(context.Background(), "ns", name); err == nil {
			left = append(left, name)
		}
	}
	return left
}

// another stores a second virtual machine of the namespace.
func (h *harness) another(change func(*vmv1alpha1.VirtualMachine)) {
	h.t.Helper()
	vm := fresh(change)
	vm.Name, vm.UID = "another", "uid-another"
	if err := h.api.Tracker().Create(vmResource, vm, "ns"); err != nil {
		h.t.Fatal(err)
	}
}

// uses lets a virtual machine have captured the revision called name.
func uses(name string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small"}
		vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small", Kind: string(instancetype.KindClusterInstancetype), ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: name}}
	}
}

// refreshed is a harness with a virtual machine that captures rev-2 in its next pass
// and had rev-1.
func refreshed(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, running(uses("rev-1"), power(vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff)), photon())
	h.revision("rev-1", h.vm())
	h.revision("rev-2", h.vm())
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		uses("rev-2")(vm)
		return vm, nil
	})
	return h
}

// F48
func TestRevisionIsDeletedOnlyAfterStatusNamesAnother(t *testing.T) {
	h := refreshed(t)
	h.api.fail["update virtualmachines/status"] = errTest
	_, _ = h.tryPass()
	if left := h.revisionsLeft("rev-1", "rev-2"); len(left) != 2 {
		t.Fatalf("revisions %v after a failed write, want both", left)
	}
	delete(h.api.fail, "update virtualmachines/status")
	_, _ = h.tryPass()
	if left := h.revisionsLeft("rev-1", "rev-2"); len(left) != 1 || left[0] != "rev-2" {
		t.Errorf("revisions %v, want the one that status names", left)
	}
}

// F48
func TestRevisionThatAnotherVMNamesOutlivesTheRefreshOfItsOwner(t *testing.T) {
	for name, names := range map[string]func(*vmv1alpha1.VirtualMachine){
		"pinned": func(vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "rev-1"}}
		},
		"in status": uses("rev-1"),
	} {
		t.Run(name, func(t *testing.T) {
			h := refreshed(t)
			h.another(names)
			h.pass()
			if left := h.revisionsLeft("rev-1", "rev-2"); len(left) != 2 {
				t.Errorf("revisions %v, want both", left)
			}
			h.api.edit("another", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Instancetype, vm.Status.InstancetypeRef = nil, nil })
			h.pass()
			if left := h.revisionsLeft("rev-1", "rev-2"); len(left) != 1 || left[0] != "rev-2" {
				t.Errorf("revisions %v after nobody names the old one, want the new one", left)
			}
		})
	}
}

func TestNoRevisionIsDeletedWhileItIsUnknownWhoNamesIt(t *testing.T) {
	h := refreshed(t)
	h.api.fail["list virtualmachines"] = errTest
	h.behind = true
	if _, err := h.tryPass(); err == nil {
		t.Error("the pass has no error, want one, so that it is tried again")
	}
	if left := h.revisionsLeft("rev-1", "rev-2"); len(left) != 2 {
		t.Errorf("revisions %v, want both", left)
	}
}

func TestAdoptedRevisionHasOneMoreOwner(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.another(func(*vmv1alpha1.VirtualMachine) {})
	h.revision("rev", h.api.vm("another"))
	for range 2 {
		if err := h.revisions.Adopt(context.Background(), h.vm(), "rev"); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := h.host.AppsV1().ControllerRevisions("ns").Get(context.Background(), "rev", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !instancetype.OwnedBy(stored, h.vm()) || !instancetype.OwnedBy(stored, h.api.vm("another")) || len(stored.OwnerReferences) != 2 {
		t.Errorf("owners %v, want both virtual machines once", stored.OwnerReferences)
	}
	if err := h.revisions.informer.GetIndexer().Update(stored); err != nil {
		t.Fatal(err)
	}
	if owned, err := h.revisions.owned(h.vm().UID); err != nil || len(owned) != 1 {
		t.Errorf("revisions of the adopter: %v, %v; want the adopted one", owned, err)
	}
}
