// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// RevisionError is returned if a revision cannot be used.
type RevisionError struct {
	// Name of the ControllerRevision.
	Name string
	// Message is the reason.
	Message string
}

// Error implements error.
func (e *RevisionError) Error() string {
	return fmt.Sprintf("ControllerRevision %q cannot be used: %s", e.Name, e.Message)
}

// HintedError is an error for a name that was not found, with a suggestion.
type HintedError struct {
	// Err is the error.
	Err error
	// Hint is appended to the text of Err.
	Hint string
}

// Error implements error.
func (e *HintedError) Error() string { return e.Err.Error() + e.Hint }

// Unwrap returns the error.
func (e *HintedError) Unwrap() error { return e.Err }

// RevisionLostError is returned if the revision in use does not exist or cannot be used. Its text describes how to repair this.
type RevisionLostError struct {
	// Role of the reference.
	Role Role
	// Namespace and VM identify the virtual machine.
	Namespace, VM string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *RevisionLostError) Error() string {
	return fmt.Sprintf("%s: run \"virtctl -n %s refresh %s %s\" to use the latest generation",
		e.Err, e.Namespace, e.Role, e.VM)
}

// Unwrap returns the cause.
func (e *RevisionLostError) Unwrap() error { return e.Err }

// InferError is returned if nothing can be inferred from a volume.
type InferError struct {
	// Role of the reference.
	Role Role
	// Volume is the name of the volume.
	Volume string
	// Ignorable is true if the failure policy Ignore applies: the volume exists but has no labels. It is false if the
	// volume does not exist.
	Ignorable bool
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *InferError) Error() string {
	return fmt.Sprintf("inferring the %s from volume %q: %s", e.Role.noun(), e.Volume, e.Err)
}

// Unwrap returns the cause.
func (e *InferError) Unwrap() error { return e.Err }

// RoleError is an error of one reference of the virtual machine.
type RoleError struct {
	// Role of the reference.
	Role Role
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *RoleError) Error() string {
	return fmt.Sprintf("finding the %s: %s", e.Role.noun(), e.Err)
}

// Unwrap returns the cause.
func (e *RoleError) Unwrap() error { return e.Err }

// ClassError is an error of the virtual machine's class.
type ClassError struct {
	// Name of the class.
	Name string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *ClassError) Error() string {
	if apierrors.IsNotFound(e.Err) {
		return fmt.Sprintf("finding the class: %s", e.Err) // Err includes the name
	}
	return fmt.Sprintf("finding class %q: %s", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *ClassError) Unwrap() error { return e.Err }

// IsMissing reports whether err means that a referenced object does not exist. The virtual machine is admitted in this
// case and continues when the object is created. If errors are joined, all of them must have this meaning.
func IsMissing(err error) bool {
	parts := SplitErrors(err)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(e error) bool { return !apierrors.IsNotFound(unwrapAPI(e)) })
}

// SplitErrors returns the errors that are joined in err, recursively. It returns err itself if it is not joined, and nothing
// for nil.
func SplitErrors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // only directly joined errors
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, SplitErrors(e)...)
	}
	return all
}

// Reason returns the condition reason for err, the most specific one first. For nil it is ReasonSucceeded.
func Reason(err error) string {
	var (
		kind     *KindError
		revision *RevisionError
		infer    *InferError
		problems *apply.Error
	)
	switch {
	case err == nil:
		return vmv1alpha1.ReasonSucceeded
	case errors.As(err, &problems):
		return problemReason(problems)
	case errors.As(err, &kind), errors.As(err, &revision):
		return vmv1alpha1.ReasonInvalid
	case IsMissing(err):
		return vmv1alpha1.ReasonNotFound
	case errors.As(err, &infer) && !apiFailure(infer.Err):
		return vmv1alpha1.ReasonInvalid
	default:
		return vmv1alpha1.ReasonError
	}
}

func problemReason(e *apply.Error) string {
	switch {
	case e.Has(apply.ConflictProblem):
		return vmv1alpha1.ReasonConflict
	case e.Has(apply.InvalidProblem):
		return vmv1alpha1.ReasonInvalid
	default:
		return vmv1alpha1.ReasonRequirementsNotMet
	}
}

// apiFailure reports whether err is from a read.
func apiFailure(err error) bool { return unwrapAPI(err) != nil }

// unwrapAPI returns the API status error that err wraps, or nil.
func unwrapAPI(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if e, ok := status.(error); ok {
			return e
		}
	}
	return nil
}
