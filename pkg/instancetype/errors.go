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

// RevisionError means that a revision cannot be used.
type RevisionError struct {
	// Name of the ControllerRevision.
	Name string
	// Message says why.
	Message string
}

// Error implements error.
func (e *RevisionError) Error() string {
	return fmt.Sprintf("ControllerRevision %q cannot be used: %s", e.Name, e.Message)
}

// HintedError is the error about a name that is not found, with a suggestion.
type HintedError struct {
	// Err is the error.
	Err error
	// Hint continues its text.
	Hint string
}

// Error implements error.
func (e *HintedError) Error() string { return e.Err.Error() + e.Hint }

// Unwrap returns the error.
func (e *HintedError) Unwrap() error { return e.Err }

// LostError means that the revision that a virtual machine uses is gone, or cannot be
// used, and says what repairs that.
type LostError struct {
	// Role of the reference.
	Role Role
	// Namespace and VM name the virtual machine.
	Namespace, VM string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s: \"virtctl -n %s refresh %s %s\" moves the virtual machine to the newest generation",
		e.Err, e.Namespace, e.Role, e.VM)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// InferError means that nothing could be inferred from a volume.
type InferError struct {
	// Role of the reference.
	Role Role
	// Volume that was to be inferred from.
	Volume string
	// Ignorable is true when the failure policy Ignore covers it: the volume
	// exists and says nothing. A volume that does not exist is not ignorable.
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

// RoleError says which reference of the virtual machine failed.
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

// ClassError says that the class of the virtual machine failed.
type ClassError struct {
	// Name of the class.
	Name string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *ClassError) Error() string {
	if apierrors.IsNotFound(e.Err) {
		return fmt.Sprintf("finding the class: %s", e.Err) // which names it
	}
	return fmt.Sprintf("finding class %q: %s", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *ClassError) Unwrap() error { return e.Err }

// IsMissing reports whether err says that a referenced object is absent. A
// virtual machine is admitted then and goes on when the object appears.
//
// Of joined errors every one must say so.
func IsMissing(err error) bool {
	parts := Parts(err)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(e error) bool { return !apierrors.IsNotFound(unwrapAPI(e)) })
}

// Parts returns the errors that were joined to err, and to those in turn; err itself
// when it is not joined, and nothing for nil.
func Parts(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // only errors that are joined directly
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Parts(e)...)
	}
	return all
}

// Reason returns the condition reason for err: what it is about, most specific
// first. Nil is ReasonSucceeded.
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

// apiFailure reports whether err came from a read.
func apiFailure(err error) bool { return unwrapAPI(err) != nil }

// unwrapAPI returns the API status error that err wraps, nil when there is none.
func unwrapAPI(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if e, ok := status.(error); ok {
			return e
		}
	}
	return nil
}
