// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"fmt"
	"slices"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// RevisionsOfVM returns the names of the revisions in vm's status and spec.
func RevisionsOfVM(vm *vmv1alpha1.VirtualMachine) []string {
	names := append(statusNames(vm), pinnedNames(&vm.Spec)...)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// pinnedNames returns the names of the revisions in a spec. They may be empty.
func pinnedNames(spec *vmv1alpha1.VirtualMachineSpec) []string {
	var names []string
	for _, role := range roles {
		if m := matcher(spec, role); m != nil {
			names = append(names, pinnedName(m), m.RevisionName)
		}
	}
	return names
}

// RevisionsOfInstance returns the names of the revisions that vmi runs with.
func RevisionsOfInstance(vmi *vmv1alpha1.VirtualMachineInstance) []string {
	var names []string
	for _, applied := range []*vmv1alpha1.AppliedRevision{vmi.Spec.Instancetype, vmi.Spec.Preference} {
		if applied != nil && applied.RevisionName != "" {
			names = append(names, applied.RevisionName)
		}
	}
	return names
}

// RevisionsOfSnapshot returns the names of the revisions that a revert to the snapshot needs.
func RevisionsOfSnapshot(s *vmv1alpha1.VirtualMachineSnapshot) []string {
	names := []string{s.Status.InstancetypeRevision, s.Status.PreferenceRevision}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// AwaitsRevision reports whether a refresh has removed a revision from vm's status and the new revision is not stored
// yet.
func AwaitsRevision(vm *vmv1alpha1.VirtualMachine) bool {
	return slices.ContainsFunc(roles, func(role Role) bool { return pendingRef(vm, role) != nil })
}

// Users are all objects in a namespace that may refer to revisions: virtual machines, instances, snapshots, and
// templates.
type Users struct {
	Machines  []vmv1alpha1.VirtualMachine
	Instances []vmv1alpha1.VirtualMachineInstance
	Snapshots []vmv1alpha1.VirtualMachineSnapshot
	Templates []vmv1alpha1.VirtualMachineTemplate
}

// ReasonToKeep returns the reason why a revision must be kept, or an empty string if it is unused. users are all
// objects in its namespace that may refer to it. revisions are all revisions in the namespace.
//
// A deleted revision cannot be restored if its source has changed. So users and revisions must have been read
// completely from the API. All revisions are kept while the status of a virtual machine has a revision that cannot be
// read, for example after a restore of the database, because another revision may be the last copy. A revision is also
// kept if its object is about to be stored again for a virtual machine.
func ReasonToKeep(revision *itv1alpha1.ControllerRevision, users Users, revisions []itv1alpha1.ControllerRevision) string {
	vms, vmis := users.Machines, users.Instances
	held, err := decodeAny(revision)
	if err != nil {
		held = nil // unusable, but kept while it is referenced
	}
	readable := make(map[string]bool, len(revisions))
	for i := range revisions {
		_, err := decodeAny(&revisions[i])
		readable[revisions[i].Name] = err == nil
	}
	for i := range vms {
		if slices.Contains(RevisionsOfVM(&vms[i]), revision.Name) {
			return fmt.Sprintf("used by virtual machine %s", vms[i].Name)
		}
		for _, name := range statusNames(&vms[i]) {
			if !readable[name] {
				return fmt.Sprintf("virtual machine %s uses revision %s, which cannot be read", vms[i].Name, name)
			}
		}
		for _, role := range roles {
			if ref := pendingRef(&vms[i], role); ref != nil && held != nil && hasIdentity(ref, role, held.identity()) {
				return fmt.Sprintf("virtual machine %s waits for a new revision of %s %q", vms[i].Name, held.Kind, held.Meta.Name)
			}
		}
	}
	for i := range vmis {
		if slices.Contains(RevisionsOfInstance(&vmis[i]), revision.Name) {
			return fmt.Sprintf("used by virtual machine instance %s", vmis[i].Name)
		}
	}
	for i := range users.Snapshots {
		if slices.Contains(RevisionsOfSnapshot(&users.Snapshots[i]), revision.Name) {
			return fmt.Sprintf("used by snapshot %s", users.Snapshots[i].Name)
		}
	}
	for i := range users.Templates {
		if slices.Contains(pinnedNames(&users.Templates[i].Spec.Template.Spec), revision.Name) {
			return fmt.Sprintf("used by template %s", users.Templates[i].Name)
		}
	}
	return ""
}

// statusNames returns the names of the revisions in vm's status.
func statusNames(vm *vmv1alpha1.VirtualMachine) []string {
	var names []string
	for _, role := range roles {
		if ref := StatusRef(vm, role); ref != nil && ref.ControllerRevisionRef != nil {
			names = append(names, ref.ControllerRevisionRef.Name)
		}
	}
	return names
}

// pendingRef returns the reference in vm's status that a refresh has left without a revision. It returns nil if there
// is none or if vm is being deleted.
func pendingRef(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.InstancetypeRef {
	ref := StatusRef(vm, role)
	if vm.DeletionTimestamp != nil || ref == nil || ref.Name == "" || ref.ControllerRevisionRef != nil {
		return nil
	}
	return ref
}
