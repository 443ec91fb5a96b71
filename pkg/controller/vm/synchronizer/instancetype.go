// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Instancetype pins the revisions of a virtual machine's instance type and preference. It updates
// status.instancetypeRef, status.preferenceRef and status.resources, and reports the conditions of the references.
//
// A reference changes to another revision only if the whole effective spec can be computed with it. Otherwise it stays
// unchanged, and the condition has the reason.
type Instancetype struct {
	sources   *instancetype.Sources
	revisions RevisionStore
	policy    Policy

	// effective is the effective spec after Sync, or nil if it cannot be computed.
	effective *vmv1alpha1.VirtualMachineInstanceSpec
	// problems has the conflicts between the objects, if all of them were found but no effective spec can be computed.
	problems *apply.Error
	// pinned has the revisions that Sync added to the status.
	pinned []*itv1alpha1.ControllerRevision
}

// Sync implements Synchronizer.
func (s *Instancetype) Sync(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	resolved, err := s.sources.Resolve()
	if err == nil {
		s.effective, err = instancetype.Compute(vm, resolved)
		errors.As(err, &s.problems)
	}
	if err == nil && s.shouldExpand(vm) {
		return s.expand(vm, resolved)
	}
	if s.effective != nil {
		vm.Status.Resources = instancetype.Resources(s.effective)
	}
	var reported []metav1.Condition
	var failures []error
	if s.problems != nil {
		failures = append(failures, s.problems)
	}
	for _, r := range references {
		_, findErr := s.sources.Find(r.role)
		pinErr := s.pin(ctx, vm, r.role, err)
		reported = append(reported, s.condition(vm, r, findErr, pinErr, err))
		failures = append(failures, findErr, pinErr)
	}
	return vm, reported, errors.Join(failures...)
}

// reference is a role and the type of its condition.
type reference struct {
	role      instancetype.Role
	condition string
}

// references has the two references that a virtual machine may have.
var references = []reference{
	{instancetype.RoleInstancetype, vmv1alpha1.ConditionInstancetypeReady},
	{instancetype.RolePreference, vmv1alpha1.ConditionPreferenceReady},
}

// expand replaces the references of vm by the settings of the referenced objects.
func (s *Instancetype) expand(vm *vmv1alpha1.VirtualMachine, resolved *instancetype.Resolved) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	expanded, err := instancetype.Expand(vm, resolved)
	if err != nil {
		return vm, nil, err
	}
	if s.effective, err = instancetype.Compute(expanded, &instancetype.Resolved{}); err != nil {
		return vm, nil, err
	}
	var removed []metav1.Condition
	for _, r := range references {
		removed = append(removed, metav1.Condition{Type: r.condition})
	}
	expanded.Status.Resources = instancetype.Resources(s.effective)
	return expanded, removed, nil
}

// shouldExpand reports whether the policy replaces the references of vm.
func (s *Instancetype) shouldExpand(vm *vmv1alpha1.VirtualMachine) bool {
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

// pin writes the status reference of vm for role after its revision exists. blocked is the reason why no effective
// spec can be computed. In that case only the data of the revision in use is updated, and its size stays unchanged.
func (s *Instancetype) pin(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role instancetype.Role, blocked error) error {
	if !hasMatcher(vm, role) {
		instancetype.SetStatusRef(vm, role, nil)
		return nil
	}
	capture, err := s.sources.Capture(vm, role)
	if err != nil {
		return err
	}
	if capture == nil {
		// Either it was not found, or nothing is inferred under the policy Ignore.
		if blocked == nil {
			instancetype.SetStatusRef(vm, role, instancetype.EmptyInferredRef(vm, role))
		}
		return nil
	}
	old := instancetype.StatusRef(vm, role)
	if blocked != nil && !(hasRevision(vm, role) && s.foundRevision(role) == old.ControllerRevisionRef.Name) {
		return nil
	}
	if capture.Create != nil {
		if err := EnsureRevision(ctx, s.revisions, capture.Create); err != nil {
			return &instancetype.RoleError{Role: role, Err: err}
		}
		s.pinned = append(s.pinned, capture.Create)
		if applied := s.appliedRevision(role); applied != nil {
			// The revision is pinned from now on, so the instance shows it from the beginning.
			applied.RevisionName = capture.Create.Name
		}
	}
	capture.Ref.Resources = instancetype.Resources(s.effective)
	if capture.Ref.Resources == nil && old != nil {
		capture.Ref.Resources = old.Resources
	}
	instancetype.SetStatusRef(vm, role, capture.Ref)
	return nil
}

// appliedRevision returns the part of the effective spec that has its source for role. It is nil if there is none.
func (s *Instancetype) appliedRevision(role instancetype.Role) *vmv1alpha1.AppliedRevision {
	switch {
	case s.effective == nil:
		return nil
	case role == instancetype.RolePreference:
		return s.effective.Preference
	}
	return s.effective.Instancetype
}

// foundRevision returns the name of the revision that was found for role. It is empty for the live object.
func (s *Instancetype) foundRevision(role instancetype.Role) string {
	found, _ := s.sources.Find(role)
	return found.Revision
}

func hasMatcher(vm *vmv1alpha1.VirtualMachine, role instancetype.Role) bool {
	if role == instancetype.RolePreference {
		return vm.Spec.Preference != nil
	}
	return vm.Spec.Instancetype != nil
}

// condition returns the condition of the reference. findErr is the error if it was not found, pinErr the error if it
// was not pinned, and blocked the reason why there is no effective spec.
func (s *Instancetype) condition(vm *vmv1alpha1.VirtualMachine, r reference, findErr, pinErr, blocked error) metav1.Condition {
	if !hasMatcher(vm, r.role) {
		return metav1.Condition{Type: r.condition}
	}
	failure := findErr
	if failure == nil {
		// The preference's condition shows unmet requirements. The instance type's condition shows conflicts and
		// topology problems.
		failure = s.problemsFor(func(p apply.Problem) bool {
			return (p.Kind == apply.RequirementProblem) == (r.role == instancetype.RolePreference)
		})
	}
	if failure == nil {
		failure = pinErr
	}
	c := condition(r.condition, failure)
	if failure == nil {
		c.Message = s.message(vm, r.role, blocked)
	}
	return c
}

// problemsFor returns the problems for which belongs returns true, or nil if there are none.
func (s *Instancetype) problemsFor(belongs func(apply.Problem) bool) error {
	if s.problems == nil {
		return nil
	}
	part := &apply.Error{}
	for _, p := range s.problems.Problems {
		if belongs(p) {
			part.Problems = append(part.Problems, p)
		}
	}
	if len(part.Problems) == 0 {
		return nil
	}
	return part
}

// message returns the condition's message for a usable reference. err is the reason why there is no effective spec.
func (s *Instancetype) message(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, err error) string {
	ref := instancetype.StatusRef(vm, role)
	switch {
	case ref != nil && ref.Name == "":
		return fmt.Sprintf("nothing was inferred from volume %q; a refresh tries again", ref.InferFromVolume)
	case err != nil && !hasRevision(vm, role):
		return notPinned
	}
	if found, _ := s.sources.Find(role); found != nil && found.Object.Preference != nil {
		if what := apply.UnappliedClockOffset(&vm.Spec, found.Object.Preference); what != "" {
			return "not applied: " + what
		}
	}
	return ""
}

// notPinned is the message for a reference that was found but has no revision: the references must be checked
// together.
const notPinned = "the revision is pinned as soon as all other objects that the virtual machine refers to are found and compatible"

// EnsureRevision creates a revision that a status refers to or will refer to. An existing revision must have the same
// data. If it was marked for collection, the mark is removed.
//
// EnsureRevision is called before the status is written and again after that. The collector first marks a revision and
// then checks whether any object refers to it. So either EnsureRevision sees the mark, or the collector sees the
// reference.
func EnsureRevision(ctx context.Context, store RevisionStore, revision *itv1alpha1.ControllerRevision) error {
	// Most virtual machines pin revisions that other virtual machines already pinned.
	existing, err := store.Get(ctx, revision.Namespace, revision.Name)
	if apierrors.IsNotFound(err) {
		_, err = store.Create(ctx, revision)
		if !apierrors.IsAlreadyExists(err) {
			return wrapCreateError(revision.Name, err)
		}
		existing, err = store.Get(ctx, revision.Namespace, revision.Name)
	}
	if err != nil {
		// Not wrapped: a NotFound error would mean that a referenced object is missing.
		return fmt.Errorf("reading existing ControllerRevision %q: %s", revision.Name, err) //nolint:errorlint // see above
	}
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("ControllerRevision %q is being deleted and will be created again", revision.Name)
	}
	if err := instancetype.CheckSameContent(existing, revision); err != nil {
		return err
	}
	if _, marked := existing.Annotations[itv1alpha1.AnnotationCollecting]; !marked {
		return nil
	}
	kept := existing.DeepCopy()
	delete(kept.Annotations, itv1alpha1.AnnotationCollecting)
	if _, err := store.Update(ctx, kept); err != nil {
		return fmt.Errorf("keeping ControllerRevision %q, which was marked for collection: %s", revision.Name, err) //nolint:errorlint // as above
	}
	return nil
}

// wrapCreateError returns the error of a create with its context.
func wrapCreateError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		// The namespace was deleted or is not known yet. Not wrapped: a NotFound error would mean that a referenced
		// object is missing and would not be retried.
		return fmt.Errorf("creating ControllerRevision %q: %s", name, err) //nolint:errorlint // see above
	}
	return fmt.Errorf("creating ControllerRevision %q: %w", name, err)
}
