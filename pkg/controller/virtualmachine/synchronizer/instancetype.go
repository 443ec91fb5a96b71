// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Instancetype captures the instance type and the preference of a virtual
// machine and keeps status.instancetypeRef, status.preferenceRef,
// status.resources and their conditions.
//
// A reference moves to another revision only when the whole effective spec can
// be computed with it; otherwise it stays, and the condition says why.
type Instancetype struct {
	reader    instancetype.Reader
	revisions RevisionStore
	policy    Policy
	now       func() metav1.Time
}

// Sync implements Synchronizer.
func (s *Instancetype) Sync(
	vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	resolved, resolveErr := instancetype.Resolve(vm, s.reader)
	var effective *vmv1alpha1.VirtualMachineInstanceSpec
	err := resolveErr
	if err == nil {
		effective, err = instancetype.Compute(vm, resolved)
	}
	out := vm.DeepCopy()
	if err == nil && s.expands(vm) {
		expanded, expandErr := instancetype.Expand(vm, resolved)
		if expandErr == nil {
			removeConditions(expanded)
			expanded.Status.Resources = instancetype.Resources(effective)
			return changed(vm, expanded), nil
		}
		err = expandErr
	}
	if effective != nil {
		out.Status.Resources = instancetype.Resources(effective)
	}
	captureErrs := []error{
		s.capture(out, vm, instancetype.RoleInstancetype, resolved.Instancetype, effective, err),
		s.capture(out, vm, instancetype.RolePreference, resolved.Preference, effective, err),
	}
	s.setConditions(out, err, captureErrs)
	return changed(vm, out), errors.Join(append([]error{own(err)}, captureErrs...)...)
}

// expands reports whether the policy replaces the references of vm.
func (s *Instancetype) expands(vm *vmv1alpha1.VirtualMachine) bool {
	if vm.Spec.Instancetype == nil && vm.Spec.Preference == nil {
		return false
	}
	switch s.policy {
	case PolicyExpandAll:
		return true
	case PolicyExpand:
		return !hasRevision(vm, instancetype.RoleInstancetype) && !hasRevision(vm, instancetype.RolePreference)
	default:
		return false
	}
}

func hasRevision(vm *vmv1alpha1.VirtualMachine, role instancetype.Role) bool {
	ref := instancetype.StatusRef(vm, role)
	return ref != nil && ref.ControllerRevisionRef != nil
}

// capture writes the status reference of out for role, after its revision
// exists. blocked is why no effective spec can be computed: then only facts
// about the revision in use are brought up to date, and its size stays.
func (s *Instancetype) capture(
	out, vm *vmv1alpha1.VirtualMachine, role instancetype.Role, found *instancetype.Found,
	effective *vmv1alpha1.VirtualMachineInstanceSpec, blocked error,
) error {
	if !hasMatcher(vm, role) {
		instancetype.SetStatusRef(out, role, nil)
		return nil
	}
	if found == nil {
		// Either it was not found, or nothing is inferred under the policy Ignore.
		if blocked == nil {
			instancetype.SetStatusRef(out, role, instancetype.Uninferred(vm, role))
		}
		return nil
	}
	ref, create, err := instancetype.Capture(vm, role, found, s.reader)
	if err != nil {
		return err
	}
	if blocked != nil && !(hasRevision(vm, role) && found.Revision == instancetype.StatusRef(vm, role).ControllerRevisionRef.Name) {
		return nil
	}
	if create != nil {
		if err := ensureRevision(s.revisions, vm, create); err != nil {
			return &instancetype.RoleError{Role: role, Err: err}
		}
	}
	if found.Foreign && create == nil {
		if err := adoptRevision(s.revisions, vm, found.Revision); err != nil {
			return &instancetype.RoleError{Role: role, Err: err}
		}
	}
	ref.Resources = instancetype.Resources(effective)
	if old := instancetype.StatusRef(vm, role); ref.Resources == nil && old != nil {
		ref.Resources = old.Resources.DeepCopy()
	}
	instancetype.SetStatusRef(out, role, ref)
	return nil
}

func hasMatcher(vm *vmv1alpha1.VirtualMachine, role instancetype.Role) bool {
	if role == instancetype.RolePreference {
		return vm.Spec.Preference != nil
	}
	return vm.Spec.Instancetype != nil
}

// own drops failures that the class synchronizer reports.
func own(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var kept []error
		for _, e := range joined.Unwrap() {
			kept = append(kept, own(e))
		}
		return errors.Join(kept...)
	}
	var class *instancetype.ClassError
	if errors.As(err, &class) {
		return nil
	}
	return err
}

// setConditions says for each reference whether it is usable.
func (s *Instancetype) setConditions(vm *vmv1alpha1.VirtualMachine, err error, captureErrs []error) {
	for i, c := range []struct {
		conditionType string
		role          instancetype.Role
	}{
		{vmv1alpha1.ConditionInstancetypeReady, instancetype.RoleInstancetype},
		{vmv1alpha1.ConditionPreferenceReady, instancetype.RolePreference},
	} {
		if !hasMatcher(vm, c.role) {
			meta.RemoveStatusCondition(&vm.Status.Conditions, c.conditionType)
			continue
		}
		failure := roleFailure(vm, c.role, err)
		if failure == nil {
			failure = captureErrs[i]
		}
		setCondition(vm, c.conditionType, failure, s.now)
		if failure == nil {
			meta.FindStatusCondition(vm.Status.Conditions, c.conditionType).Message = remark(vm, c.role, err)
		}
	}
}

// remark is what there is to say of a usable reference; err is why there is no
// effective spec.
func remark(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, err error) string {
	ref := instancetype.StatusRef(vm, role)
	switch {
	case ref != nil && ref.Name == "":
		return fmt.Sprintf("nothing was inferred from volume %q; a refresh looks again", ref.InferFromVolume)
	case err != nil && !hasRevision(vm, role):
		return notCaptured
	default:
		return ""
	}
}

// notCaptured is why a reference that is found has no revision: only the whole
// says whether the references go together.
const notCaptured = "the revision is captured as soon as everything else that the virtual machine refers to is found and fits"

func removeConditions(vm *vmv1alpha1.VirtualMachine) {
	meta.RemoveStatusCondition(&vm.Status.Conditions, vmv1alpha1.ConditionInstancetypeReady)
	meta.RemoveStatusCondition(&vm.Status.Conditions, vmv1alpha1.ConditionPreferenceReady)
}

// roleFailure returns the part of err that is about role: what it could not
// find, or what is wrong in the combination. Requirements are the preference's;
// conflicts and topology are the instance type's.
func roleFailure(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if failure := roleFailure(vm, role, e); failure != nil {
				return failure
			}
		}
		return nil
	}
	var ofRole *instancetype.RoleError
	if errors.As(err, &ofRole) {
		if ofRole.Role == role {
			return err
		}
		return nil
	}
	var problems *apply.Error
	if !errors.As(err, &problems) {
		return nil
	}
	part := &apply.Error{}
	for _, p := range problems.Problems {
		if (p.Kind == apply.RequirementProblem) == (role == instancetype.RolePreference) {
			part.Problems = append(part.Problems, p)
		}
	}
	if len(part.Problems) == 0 {
		return nil
	}
	return part
}
