// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Unreferenced returns the names of those revisions of owned that belong to vm and
// that nothing refers to: neither its status, nor the pins of its spec, nor the
// running instance, nor status and spec of the other virtual machines of the
// namespace, nor keep. It returns none while a capture of vm is outstanding, so
// that the last copy of an object is never given up before there is another. A vm
// that is being deleted refers to nothing itself.
//
// What is collected cannot be captured again when its source has changed since.
// So vm and others must have been read from the API after the status of vm was
// persisted, and completely: who cannot read them does not ask. Among others vm
// itself does not count.
func Unreferenced(
	vm *vmv1alpha1.VirtualMachine,
	vmi *vmv1alpha1.VirtualMachineInstance,
	owned []*appsv1.ControllerRevision,
	others []vmv1alpha1.VirtualMachine,
	keep ...string,
) []string {
	if captureOutstanding(vm) {
		return nil
	}
	used := make(map[string]bool, len(keep)+len(others)+6)
	for _, name := range keep {
		used[name] = true
	}
	for i := range others {
		if others[i].UID != vm.UID {
			namedBy(&others[i], used)
		}
	}
	if vm.DeletionTimestamp == nil {
		namedBy(vm, used)
	}
	if vmi != nil {
		for _, applied := range []*vmv1alpha1.AppliedRevision{vmi.Spec.Instancetype, vmi.Spec.Preference} {
			if applied != nil {
				used[applied.RevisionName] = true
			}
		}
	}
	var names []string
	for _, revision := range owned {
		if !used[revision.Name] && OwnedBy(revision, vm) && holdsObject(revision) {
			names = append(names, revision.Name)
		}
	}
	return names
}

// namedBy adds the revisions that spec and status of vm name.
func namedBy(vm *vmv1alpha1.VirtualMachine, names map[string]bool) {
	for _, role := range roles {
		if ref := StatusRef(vm, role); ref != nil && ref.ControllerRevisionRef != nil {
			names[ref.ControllerRevisionRef.Name] = true
		}
		if m := matcher(&vm.Spec, role); m != nil {
			names[pin(m)] = true
			names[m.RevisionName] = true
		}
	}
}

// captureOutstanding reports whether a reference of vm, which is not being deleted,
// has no revision yet.
func captureOutstanding(vm *vmv1alpha1.VirtualMachine) bool {
	if vm.DeletionTimestamp != nil {
		return false
	}
	for _, role := range roles {
		ref, m := StatusRef(vm, role), matcher(&vm.Spec, role)
		if ref != nil && ref.ControllerRevisionRef != nil {
			continue
		}
		if ref != nil && ref.Name != "" || m != nil && !ignores(m) {
			return true
		}
	}
	return false
}

// holdsObject reports whether revision is one of an instance type or
// preference. Old formats have no label of ours.
func holdsObject(revision *appsv1.ControllerRevision) bool {
	if revision.Labels[LabelObjectKind] != "" {
		return true
	}
	_, err := decodeAny(revision)
	return err == nil
}

// OwnedBy reports whether vm itself, not an earlier virtual machine of the same
// name, is among the owners of revision.
func OwnedBy(revision *appsv1.ControllerRevision, vm *vmv1alpha1.VirtualMachine) bool {
	for i := range revision.OwnerReferences {
		if revision.OwnerReferences[i].UID == vm.UID {
			return true
		}
	}
	return false
}

// AddOwner makes vm an owner of revision, so that it lives as long as vm: the
// controlling one where there is none yet. It reports whether vm was not one before.
func AddOwner(revision *appsv1.ControllerRevision, vm *vmv1alpha1.VirtualMachine) bool {
	if OwnedBy(revision, vm) {
		return false
	}
	owner := *metav1.NewControllerRef(vm, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))
	if metav1.GetControllerOf(revision) != nil {
		owner.Controller = nil
	}
	revision.OwnerReferences = append(revision.OwnerReferences, owner)
	return true
}
