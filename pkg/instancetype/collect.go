// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"fmt"
	"slices"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// NamedBy returns the revisions that vm names: those that its status has, and those that
// its spec pins.
func NamedBy(vm *vmv1alpha1.VirtualMachine) []string {
	names := append(statusNames(vm), pinnedBy(&vm.Spec)...)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// pinnedBy returns the revisions that a spec pins, empty names among them.
func pinnedBy(spec *vmv1alpha1.VirtualMachineSpec) []string {
	var names []string
	for _, role := range roles {
		if m := matcher(spec, role); m != nil {
			names = append(names, pin(m), m.RevisionName)
		}
	}
	return names
}

// NamedByInstance returns the revisions that vmi runs with.
func NamedByInstance(vmi *vmv1alpha1.VirtualMachineInstance) []string {
	var names []string
	for _, applied := range []*vmv1alpha1.AppliedRevision{vmi.Spec.Instancetype, vmi.Spec.Preference} {
		if applied != nil && applied.RevisionName != "" {
			names = append(names, applied.RevisionName)
		}
	}
	return names
}

// NamedBySnapshot returns the revisions that a snapshot needs to be reverted to.
func NamedBySnapshot(s *vmv1alpha1.VirtualMachineSnapshot) []string {
	names := []string{s.Status.InstancetypeRevision, s.Status.PreferenceRevision}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Awaits reports whether vm has let go of the revision of an object that it has yet to
// capture anew.
func Awaits(vm *vmv1alpha1.VirtualMachine) bool {
	return slices.ContainsFunc(roles, func(role Role) bool { return awaited(vm, role) != nil })
}

// Users are what may name the revisions of a namespace, all of it: its virtual machines,
// their instances, their snapshots, and the templates that others are made of later.
type Users struct {
	Machines  []vmv1alpha1.VirtualMachine
	Instances []vmv1alpha1.VirtualMachineInstance
	Snapshots []vmv1alpha1.VirtualMachineSnapshot
	Templates []vmv1alpha1.VirtualMachineTemplate
}

// Keeps returns why a revision has to stay, empty when nothing needs it: users are those of
// its namespace, revisions all that the namespace has.
//
// What is collected cannot be captured again when its source has changed since. So all of
// them must have been read from the API, completely; who cannot read them does not
// ask. Nothing may go while a virtual machine has captured what is not there, as in a
// store that was restored: what is left may be the last copy of what it runs with. Nor
// may a revision of the object that a virtual machine is about to capture anew.
func Keeps(revision *itv1alpha1.ControllerRevision, users Users, revisions []itv1alpha1.ControllerRevision) string {
	vms, vmis := users.Machines, users.Instances
	held, err := decodeAny(revision)
	if err != nil {
		held = nil // of no use to anybody, but not to be lost while it is named
	}
	readable := make(map[string]bool, len(revisions))
	for i := range revisions {
		_, err := decodeAny(&revisions[i])
		readable[revisions[i].Name] = err == nil
	}
	for i := range vms {
		if slices.Contains(NamedBy(&vms[i]), revision.Name) {
			return fmt.Sprintf("virtual machine %s names it", vms[i].Name)
		}
		for _, name := range statusNames(&vms[i]) {
			if !readable[name] {
				return fmt.Sprintf("virtual machine %s has captured %s, which cannot be read", vms[i].Name, name)
			}
		}
		for _, role := range roles {
			if ref := awaited(&vms[i], role); ref != nil && held != nil && sameIdentity(ref, role, held.identity()) {
				return fmt.Sprintf("virtual machine %s has yet to capture %s %q anew", vms[i].Name, held.Kind, held.Meta.Name)
			}
		}
	}
	for i := range vmis {
		if slices.Contains(NamedByInstance(&vmis[i]), revision.Name) {
			return fmt.Sprintf("virtual machine instance %s runs with it", vmis[i].Name)
		}
	}
	for i := range users.Snapshots {
		if slices.Contains(NamedBySnapshot(&users.Snapshots[i]), revision.Name) {
			return fmt.Sprintf("snapshot %s needs it", users.Snapshots[i].Name)
		}
	}
	for i := range users.Templates {
		if slices.Contains(pinnedBy(&users.Templates[i].Spec.Template.Spec), revision.Name) {
			return fmt.Sprintf("template %s pins it", users.Templates[i].Name)
		}
	}
	return ""
}

// statusNames are the revisions that the status of vm names.
func statusNames(vm *vmv1alpha1.VirtualMachine) []string {
	var names []string
	for _, role := range roles {
		if ref := StatusRef(vm, role); ref != nil && ref.ControllerRevisionRef != nil {
			names = append(names, ref.ControllerRevisionRef.Name)
		}
	}
	return names
}

// awaited is the status reference of vm that a refresh has left without a revision; nil
// when there is none, or vm is being deleted.
func awaited(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.InstancetypeRef {
	ref := StatusRef(vm, role)
	if vm.DeletionTimestamp != nil || ref == nil || ref.Name == "" || ref.ControllerRevisionRef != nil {
		return nil
	}
	return ref
}
