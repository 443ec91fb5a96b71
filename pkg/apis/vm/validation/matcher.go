// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// inferFromImage is the value of inferFromVolume that refers to the boot image.
const inferFromImage = "image"

// Kinds that a matcher accepts, in the spelling that messages use. A matcher accepts any letter case.
var (
	instancetypeKinds = []string{"VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"}
	preferenceKinds   = []string{"VirtualMachinePreference", "VirtualMachineClusterPreference"}
)

// matcher contains the fields that instance type and preference matchers have in common.
type matcher struct {
	name, kind, revisionName, inferFromVolume string
	revisionRef                               *vmv1alpha1.ControllerRevisionRef
	failurePolicy                             *vmv1alpha1.InferFromVolumeFailurePolicy
}

// instancetypeMatcher converts m to a matcher. It returns nil if m is nil.
func instancetypeMatcher(m *vmv1alpha1.InstancetypeMatcher) *matcher {
	if m == nil {
		return nil
	}
	return &matcher{m.Name, m.Kind, m.RevisionName, m.InferFromVolume, m.ControllerRevisionRef, m.InferFromVolumeFailurePolicy}
}

// preferenceMatcher converts m to a matcher. It returns nil if m is nil.
func preferenceMatcher(m *vmv1alpha1.PreferenceMatcher) *matcher {
	if m == nil {
		return nil
	}
	return &matcher{m.Name, m.Kind, m.RevisionName, m.InferFromVolume, m.ControllerRevisionRef, m.InferFromVolumeFailurePolicy}
}

// validateInstancetypeMatcher checks a reference to an instance type.
func validateInstancetypeMatcher(m *vmv1alpha1.InstancetypeMatcher, volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	return validateMatcher(instancetypeMatcher(m), instancetypeKinds, volumes, path)
}

// validatePreferenceMatcher checks a reference to a preference.
func validatePreferenceMatcher(m *vmv1alpha1.PreferenceMatcher, volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	return validateMatcher(preferenceMatcher(m), preferenceKinds, volumes, path)
}

// validateMatcher checks a reference whose kind is one of kinds. It does not check whether the object exists, because
// it can be created later.
func validateMatcher(m *matcher, kinds []string, volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.name == "" && m.inferFromVolume == "" {
		errs = append(errs, field.Required(path.Child("name"), "one of name and inferFromVolume must be set"))
	}
	errs = append(errs, validateName(m.name, path.Child("name"))...)
	if m.kind != "" && !kindMatches(m.kind, kinds) {
		errs = append(errs, field.NotSupported(path.Child("kind"), m.kind, kinds))
	}
	errs = append(errs, validateName(m.revisionName, path.Child("revisionName"))...)
	if ref := m.revisionRef; ref != nil {
		errs = append(errs, validateRequiredName(ref.Name, path.Child("controllerRevisionRef", "name"))...)
		if m.revisionName != "" && m.revisionName != ref.Name {
			errs = append(errs, field.Invalid(path.Child("revisionName"), m.revisionName,
				fmt.Sprintf("must be absent or equal to controllerRevisionRef.name, %s", ref.Name)))
		}
	}
	if m.inferFromVolume != "" {
		errs = append(errs, validateInference(m, volumes, path)...)
	}
	if policy := m.failurePolicy; policy != nil {
		policyPath := path.Child("inferFromVolumeFailurePolicy")
		if *policy == "" {
			errs = append(errs, field.Required(policyPath, "must be Reject or Ignore, or be absent"))
		}
		errs = append(errs, validateEnum(*policy, policyPath, vmv1alpha1.InferFromVolumeFailureReject, vmv1alpha1.InferFromVolumeFailureIgnore)...)
	}
	return errs
}

// validateInference checks that the volume exists and that the inferred name and kind are not set. They can be set
// together with controllerRevisionRef, as in the spec that a restore creates.
func validateInference(m *matcher, volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.revisionRef == nil {
		const detail = "may be set together with inferFromVolume only if controllerRevisionRef is set too"
		if m.name != "" {
			errs = append(errs, field.Invalid(path.Child("name"), m.name, detail))
		}
		if m.kind != "" {
			errs = append(errs, field.Invalid(path.Child("kind"), m.kind, detail))
		}
	}
	if m.inferFromVolume == inferFromImage {
		return errs
	}
	for i := range volumes {
		if volumes[i].Name == m.inferFromVolume {
			return errs
		}
	}
	return append(errs, field.Invalid(path.Child("inferFromVolume"), m.inferFromVolume,
		`must be "image" or the name of an entry of spec.volumes`))
}

// kindMatches reports whether kind is one of kinds in any letter case, singular
// or plural.
func kindMatches(kind string, kinds []string) bool {
	for _, k := range kinds {
		if strings.EqualFold(kind, k) || strings.EqualFold(kind, k+"s") {
			return true
		}
	}
	return false
}

// validateMatcherUpdate rejects a new name with a pinned revision of the previous name. Adding and removing a matcher
// or a pinned revision is always allowed.
func validateMatcherUpdate(m, old *matcher, path *field.Path) field.ErrorList {
	if m == nil || old == nil || m.name == old.name {
		return nil
	}
	var errs field.ErrorList
	if m.revisionName != "" && m.revisionName == old.revisionName {
		errs = append(errs, field.Invalid(path.Child("revisionName"), m.revisionName,
			fmt.Sprintf("must be changed or removed together with the name: it pins a revision of %q", old.name)))
	}
	if m.revisionRef != nil && old.revisionRef != nil && m.revisionRef.Name == old.revisionRef.Name {
		errs = append(errs, field.Invalid(path.Child("controllerRevisionRef", "name"), m.revisionRef.Name,
			fmt.Sprintf("must be changed or removed together with the name: it pins a revision of %q", old.name)))
	}
	return errs
}
