// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// NoMatcherError is returned if the virtual machine has no such reference.
type NoMatcherError struct {
	// Role is the role to refresh.
	Role Role
}

// Error implements error.
func (e *NoMatcherError) Error() string {
	return fmt.Sprintf("the virtual machine has no spec.%s, so there is nothing to refresh", e.Role)
}

// SourceDeletedError is returned if the live object does not exist.
type SourceDeletedError struct {
	// Role is the role to refresh.
	Role Role
	// Captured is true if the virtual machine uses a revision of the object.
	Captured bool
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *SourceDeletedError) Error() string {
	if !e.Captured {
		return fmt.Sprintf("the %s does not exist: %s", e.Role.noun(), e.Err)
	}
	return fmt.Sprintf("the %s no longer exists and the current revision remains in use: %s", e.Role.noun(), e.Err)
}

// Unwrap returns the cause.
func (e *SourceDeletedError) Unwrap() error { return e.Err }

// RefreshRefusedError is returned if the spec must be changed before a refresh.
type RefreshRefusedError struct {
	// Message describes the required change.
	Message string
}

// Error implements error.
func (e *RefreshRefusedError) Error() string { return e.Message }

// Refresh is the planned refresh.
type Refresh struct {
	// Result is the response to the user.
	Result *vmv1alpha1.RefreshResult
	// VM is the virtual machine to store; nil if nothing changes.
	VM *vmv1alpha1.VirtualMachine
}

// PlanRefresh checks whether vm can use the live instance type or preference, and returns the changes. The new VM has
// no revisions in spec and status, so the controller stores a new one. running is the effective spec that vm runs with;
// it determines which changes need a power cycle. It is nil if vm does not run or if the spec is not recorded yet. The
// sources must be from GatherForRefresh.
//
// The error is a *NoMatcherError, *SourceDeletedError, *RefreshRefusedError or *apply.Error if the refresh is refused, or
// another error if a read has failed.
func PlanRefresh(
	vm *vmv1alpha1.VirtualMachine, role Role, running *vmv1alpha1.VirtualMachineInstanceSpec, s *Sources,
) (*Refresh, error) {
	m := matcher(&vm.Spec, role)
	if m == nil {
		return nil, &NoMatcherError{Role: role}
	}
	if m.InferFromVolume != "" && (m.Name != "" || m.Kind != "") {
		return nil, &RefreshRefusedError{Message: fmt.Sprintf(
			"spec.%s has name or kind together with inferFromVolume: to infer again, clear name, kind and controllerRevisionRef first; "+
				"to keep the name, clear inferFromVolume first", role)}
	}
	latest, err := s.forRole(role).latest, s.forRole(role).latestErr
	if err != nil {
		if apierrors.IsNotFound(unwrapAPI(err)) {
			ref := StatusRef(vm, role)
			return nil, &SourceDeletedError{Role: role, Captured: ref != nil && ref.ControllerRevisionRef != nil, Err: err}
		}
		return nil, err
	}
	if latest == nil {
		return nil, &RefreshRefusedError{Message: fmt.Sprintf("nothing can be inferred from volume %q", m.InferFromVolume)}
	}
	result := newRefreshResult(vm, role, latest.Object)
	result.SpecPinCleared = pinnedName(m) != ""
	lost, err := s.forRole(role).isLost()
	if err != nil {
		return nil, err
	}
	if !lost && upToDate(vm, role, latest.Object) {
		result.NewRevision, result.NewGeneration = result.OldRevision, result.OldGeneration
		plan := &Refresh{Result: result}
		if result.SpecPinCleared {
			plan.VM = vm.DeepCopy()
			unpin(matcher(&plan.VM.Spec, role))
		}
		return plan, nil
	}
	if result.Fields, err = changedFields(vm, role, running, s); err != nil {
		return nil, err
	}
	result.Changed = true
	return &Refresh{Result: result, VM: ClearPins(vm, role)}, nil
}

// ClearPins returns a copy of vm without the revisions of role in spec and status. The other fields of the reference in
// status are kept until a new revision is stored.
func ClearPins(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.VirtualMachine {
	out := vm.DeepCopy()
	if m := matcher(&out.Spec, role); m != nil {
		unpin(m)
	}
	if ref := StatusRef(out, role); ref != nil {
		ref.ControllerRevisionRef = nil
		if ref.Name == "" {
			SetStatusRef(out, role, nil) // nothing was inferred earlier, so infer again
		}
	}
	return out
}

// newRefreshResult returns the part of the result that needs no comparison.
func newRefreshResult(vm *vmv1alpha1.VirtualMachine, role Role, latest *Object) *vmv1alpha1.RefreshResult {
	result := &vmv1alpha1.RefreshResult{
		SourceName:    latest.Meta.Name,
		SourceKind:    string(latest.Kind),
		NewRevision:   RevisionName(latest),
		NewGeneration: latest.Meta.Generation,
	}
	result.Name, result.Namespace = vm.Name, vm.Namespace
	if ref := StatusRef(vm, role); ref != nil {
		result.OldGeneration = ref.SourceGeneration
		result.OldSourceName, result.OldSourceKind = ref.Name, ref.Kind
		if ref.ControllerRevisionRef != nil {
			result.OldRevision = ref.ControllerRevisionRef.Name
		}
	}
	if name := pinnedName(matcher(&vm.Spec, role)); name != "" {
		result.OldRevision = name
	}
	return result
}

// upToDate reports whether vm uses the latest object. A recreated object has another UID and counts as newer. A
// revision in spec must be the same as the one in status.
func upToDate(vm *vmv1alpha1.VirtualMachine, role Role, latest *Object) bool {
	ref := StatusRef(vm, role)
	if ref == nil || ref.ControllerRevisionRef == nil || !hasIdentity(ref, role, latest.identity()) {
		return false
	}
	if name := pinnedName(matcher(&vm.Spec, role)); name != "" && name != ref.ControllerRevisionRef.Name {
		return false
	}
	return ref.SourceUID == string(latest.Meta.UID) && ref.SourceGeneration == latest.Meta.Generation
}

// isLost reports whether the revision in use does not exist or cannot be used. A refresh repairs this.
func (g *roleSources) isLost() (bool, error) {
	var broken *RevisionError
	switch {
	case g.err == nil:
		return false, nil
	case errors.As(g.err, &broken), apierrors.IsNotFound(unwrapAPI(g.err)):
		return true, nil
	}
	return false, g.err
}

// changedFields computes the effective spec with the latest object, which also checks conflicts, topology and
// requirements. It compares the result with the current effective spec. If the current one cannot be computed, it
// returns no fields, because the refresh may repair this.
func changedFields(
	vm *vmv1alpha1.VirtualMachine, role Role, running *vmv1alpha1.VirtualMachineInstanceSpec, s *Sources,
) ([]vmv1alpha1.RefreshField, error) {
	other := RolePreference
	if role == RolePreference {
		other = RoleInstancetype
	}
	kept, err := s.Find(other)
	if lost, _ := s.forRole(other).isLost(); lost {
		// If both revisions are lost, each can be refreshed only with the latest object of the other.
		if kept, err = s.forRole(other).latest, s.forRole(other).latestErr; err != nil {
			err = &RoleError{Role: other, Err: err}
		}
	}
	if err := errors.Join(err, s.classErr); err != nil {
		return nil, err
	}
	resolved := &Resolved{Class: s.class}
	resolved.setRole(role, s.forRole(role).latest)
	resolved.setRole(other, kept)
	desired, err := ComputeEffective(vm, resolved)
	if err != nil {
		return nil, err
	}
	found, err := s.Find(role)
	if err != nil {
		return nil, nil
	}
	resolved.setRole(role, found)
	current, err := ComputeEffective(vm, resolved)
	if err != nil {
		return nil, nil
	}
	return refreshFields(vm, running, current, desired), nil
}

func (r *Resolved) setRole(role Role, found *ResolvedObject) {
	if role == RolePreference {
		r.Preference = found
		return
	}
	r.Instancetype = found
}
