// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// statusError converts an error of pkg/instancetype about a virtual machine into an API error. Errors that the user
// can fix are Invalid with the field. Failed reads keep their status.
func statusError(name string, err error) error {
	var (
		problems *apply.Error
		none     *instancetype.NoMatcherError
		gone     *instancetype.SourceGoneError
		refused  *instancetype.RefreshRefusedError
		kind     *instancetype.KindError
		revision *instancetype.RevisionError
		infer    *instancetype.InferError
		role     *instancetype.RoleError
		status   apierrors.APIStatus
	)
	switch spec := field.NewPath("spec"); {
	case errors.As(err, &problems):
		return apierrors.NewInvalid(vmv1alpha1.Kind("VirtualMachine"), name, problems.ErrorList())
	case errors.As(err, &none):
		return invalid(name, field.Required(spec.Child(string(none.Role)), none.Error()))
	case errors.As(err, &gone):
		return invalid(name, field.Invalid(spec.Child(string(gone.Role)), "", gone.Error()))
	case errors.As(err, &refused):
		return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), name, refused)
	case errors.As(err, &kind):
		return invalid(name, field.Invalid(spec.Child(string(kind.Role), "kind"), kind.Kind, kind.Error()))
	case errors.As(err, &revision):
		return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), name, revision)
	case errors.As(err, &infer) && !isReadFailure(err):
		return invalid(name, field.Invalid(spec.Child(string(infer.Role), "inferFromVolume"), infer.Volume, infer.Error()))
	case instancetype.IsMissing(err) && errors.As(err, &role):
		return invalid(name, field.Invalid(spec.Child(string(role.Role)), "", role.Error()))
	case instancetype.IsMissing(err):
		return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), name, err)
	case errors.As(err, &status):
		// The server uses only an unwrapped status.
		answer := status.Status()
		answer.Message = err.Error()
		return &apierrors.StatusError{ErrStatus: answer}
	default:
		return apierrors.NewInternalError(err)
	}
}

func invalid(name string, err *field.Error) error {
	return apierrors.NewInvalid(vmv1alpha1.Kind("VirtualMachine"), name, field.ErrorList{err})
}

// isReadFailure reports whether err is a failed read and not an absent object.
func isReadFailure(err error) bool {
	return apierrors.ReasonForError(err) != "" && !instancetype.IsMissing(err)
}
