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

// Instancetype captures the instance type and the preference of a virtual
// machine, keeps status.instancetypeRef, status.preferenceRef and
// status.resources, and reports their conditions.
//
// A reference moves to another revision only when the whole effective spec can
// be computed with it; otherwise it stays, and the condition says why.
type Instancetype struct {
	sources   *instancetype.Sources
	revisions RevisionStore
	policy    Policy

	// effective is the effective spec after Sync; nil when there is none.
	effective *vmv1alpha1.VirtualMachineInstanceSpec
	// problems are why there is none although everything was found.
	problems *apply.Error
	// captured are the revisions that Sync made the status name.
	captured []*itv1alpha1.ControllerRevision
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
	if err == nil && s.expands(vm) {
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
		_, missing := s.sources.Find(r.role)
		captured := s.capture(ctx, vm, r.role, err)
		reported = append(reported, s.condition(vm, r, missing, captured, err))
		failures = append(failures, missing, captured)
	}
	return vm, reported, errors.Join(failures...)
}

// reference is a role, and the condition that says whether it is usable.
type reference struct {
	role      instancetype.Role
	condition string
}

// references are the two that a virtual machine may have.
var references = []reference{
	{instancetype.RoleInstancetype, vmv1alpha1.ConditionInstancetypeReady},
	{instancetype.RolePreference, vmv1alpha1.ConditionPreferenceReady},
}

// expand replaces the references of vm by what they say.
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

// capture writes the status reference of vm for role, after its revision exists.
// blocked is why no effective spec can be computed: then only facts
// about the revision in use are brought up to date, and its size stays.
func (s *Instancetype) capture(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role instancetype.Role, blocked error) error {
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
			instancetype.SetStatusRef(vm, role, instancetype.Uninferred(vm, role))
		}
		return nil
	}
	old := instancetype.StatusRef(vm, role)
	if blocked != nil && !(hasRevision(vm, role) && s.revision(role) == old.ControllerRevisionRef.Name) {
		return nil
	}
	if capture.Create != nil {
		if err := Ensure(ctx, s.revisions, capture.Create); err != nil {
			return &instancetype.RoleError{Role: role, Err: err}
		}
		s.captured = append(s.captured, capture.Create)
		if applied := s.applied(role); applied != nil {
			// What it comes from is captured now: the instance says so from the beginning.
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

// applied is where the effective spec says what it comes from; nil when there is none.
func (s *Instancetype) applied(role instancetype.Role) *vmv1alpha1.AppliedRevision {
	switch {
	case s.effective == nil:
		return nil
	case role == instancetype.RolePreference:
		return s.effective.Preference
	}
	return s.effective.Instancetype
}

// revision is the one that was found for role; empty for the live object.
func (s *Instancetype) revision(role instancetype.Role) string {
	found, _ := s.sources.Find(role)
	return found.Revision
}

func hasMatcher(vm *vmv1alpha1.VirtualMachine, role instancetype.Role) bool {
	if role == instancetype.RolePreference {
		return vm.Spec.Preference != nil
	}
	return vm.Spec.Instancetype != nil
}

// condition returns whether the reference is usable: missing is why it was not found,
// captured why it was not captured, blocked why there is no effective spec.
func (s *Instancetype) condition(vm *vmv1alpha1.VirtualMachine, r reference, missing, captured, blocked error) metav1.Condition {
	if !hasMatcher(vm, r.role) {
		return metav1.Condition{Type: r.condition}
	}
	failure := missing
	if failure == nil {
		// Requirements are the preference's; conflicts and topology are the instance
		// type's.
		failure = s.part(func(p apply.Problem) bool {
			return (p.Kind == apply.RequirementProblem) == (r.role == instancetype.RolePreference)
		})
	}
	if failure == nil {
		failure = captured
	}
	c := condition(r.condition, failure)
	if failure == nil {
		c.Message = s.remark(vm, r.role, blocked)
	}
	return c
}

// part returns those problems that belong to somebody, nil when there are none.
func (s *Instancetype) part(belongs func(apply.Problem) bool) error {
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

// remark is what there is to say of a usable reference; err is why there is no
// effective spec.
func (s *Instancetype) remark(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, err error) string {
	ref := instancetype.StatusRef(vm, role)
	switch {
	case ref != nil && ref.Name == "":
		return fmt.Sprintf("nothing was inferred from volume %q; a refresh looks again", ref.InferFromVolume)
	case err != nil && !hasRevision(vm, role):
		return notCaptured
	}
	if found, _ := s.sources.Find(role); found != nil && found.Object.Preference != nil {
		if what := apply.Unapplied(&vm.Spec, found.Object.Preference); what != "" {
			return "not applied: " + what
		}
	}
	return ""
}

// notCaptured is why a reference that is found has no revision: only the whole
// says whether the references go together.
const notCaptured = "the revision is captured as soon as everything else that the virtual machine refers to is found and fits"

// Ensure lets revision exist, for a status that names it or is about to. One that
// exists must hold the same, and stays if it was about to be collected.
//
// It is called before the status is written and again after that: who collects a
// revision marks it first and then looks whether anything names it, so that one of the
// two sees the other.
func Ensure(ctx context.Context, store RevisionStore, revision *itv1alpha1.ControllerRevision) error {
	// Most virtual machines capture what another one has captured before.
	existing, err := store.Get(ctx, revision.Namespace, revision.Name)
	if apierrors.IsNotFound(err) {
		_, err = store.Create(ctx, revision)
		if !apierrors.IsAlreadyExists(err) {
			return created(revision.Name, err)
		}
		existing, err = store.Get(ctx, revision.Namespace, revision.Name)
	}
	if err != nil {
		// Not wrapped: nothing that the virtual machine refers to is missing.
		return fmt.Errorf("reading existing ControllerRevision %q: %s", revision.Name, err) //nolint:errorlint // see above
	}
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("ControllerRevision %q is being deleted and will be captured again", revision.Name)
	}
	if err := instancetype.Same(existing, revision); err != nil {
		return err
	}
	if _, marked := existing.Annotations[itv1alpha1.AnnotationCollecting]; !marked {
		return nil
	}
	kept := existing.DeepCopy()
	delete(kept.Annotations, itv1alpha1.AnnotationCollecting)
	if _, err := store.Update(ctx, kept); err != nil {
		return fmt.Errorf("keeping ControllerRevision %q, which was about to be collected: %s", revision.Name, err) //nolint:errorlint // as above
	}
	return nil
}

// created is the error of a create.
func created(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		// The namespace is gone or not seen yet. Not wrapped: nothing that the virtual
		// machine refers to is missing, so that it has to be tried again.
		return fmt.Errorf("creating ControllerRevision %q: %s", name, err) //nolint:errorlint // see above
	}
	return fmt.Errorf("creating ControllerRevision %q: %w", name, err)
}
