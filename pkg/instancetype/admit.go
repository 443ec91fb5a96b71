// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Admit returns the reasons why vm must not be created (old is nil) or updated: conflicts with its instance type or
// class, a CPU topology that is impossible for the preference, unmet requirements, and references that can never be
// resolved. A missing object is not a reason, because it may be created later.
//
// An update is checked only if it changes more than metadata and power state, and only new problems are reported. So an
// existing problem never prevents a virtual machine from being powered off, edited or deleted.
//
// The error is not nil if a read has failed.
func Admit(ctx context.Context, vm, old *vmv1alpha1.VirtualMachine, r Reader) (field.ErrorList, error) {
	if vm.DeletionTimestamp != nil || old != nil && equalExceptPower(&vm.Spec, &old.Spec) {
		return nil, nil
	}
	_, err := Effective(vm, Gather(ctx, vm, r))
	found, err := admissionErrors(err)
	if err != nil || len(found) == 0 || old == nil {
		return found, err
	}
	_, oldErr := Effective(old, Gather(ctx, old, r))
	before, oldErr := admissionErrors(oldErr)
	if oldErr != nil {
		return nil, oldErr
	}
	return slices.DeleteFunc(found, func(e *field.Error) bool {
		return slices.ContainsFunc(before, func(o *field.Error) bool { return o.Error() == e.Error() })
	}), nil
}

// equalExceptPower reports whether two specs are equal except for the fields of the power state.
func equalExceptPower(a, b *vmv1alpha1.VirtualMachineSpec) bool {
	left, right := *a, *b
	for _, s := range []*vmv1alpha1.VirtualMachineSpec{&left, &right} {
		s.PowerState, s.NextRestartTime, s.PowerPolicy = "", "", nil
		s.PowerOffMode, s.SuspendMode, s.RestartMode = "", "", ""
	}
	return equality.Semantic.DeepEqual(&left, &right)
}

// admissionErrors converts an error of Effective into admission errors. The second result is the error of a failed read.
func admissionErrors(err error) (field.ErrorList, error) {
	var all field.ErrorList
	for _, e := range SplitErrors(err) {
		list, failed := admissionError(e)
		if failed != nil {
			return nil, failed
		}
		all = append(all, list...)
	}
	return all, nil
}

// admissionError converts an error that is not joined.
func admissionError(err error) (field.ErrorList, error) {
	var (
		problems *apply.Error
		kind     *KindError
		revision *RevisionError
		infer    *InferError
		role     *RoleError
	)
	path := field.NewPath("spec")
	if errors.As(err, &role) {
		path = path.Child(string(role.Role))
	}
	switch {
	case IsMissing(err):
		return nil, nil
	case errors.As(err, &problems):
		return problems.ErrorList(), nil
	case errors.As(err, &kind):
		return field.ErrorList{field.Invalid(path.Child("kind"), kind.Kind, kind.Error())}, nil
	case errors.As(err, &revision):
		return field.ErrorList{field.Invalid(path.Child("controllerRevisionRef"), revision.Name, revision.Error())}, nil
	case errors.As(err, &infer) && !apiFailure(infer.Err):
		// the label may be added later
		if infer.Ignorable {
			return nil, nil
		}
		return field.ErrorList{field.Invalid(path.Child("inferFromVolume"), infer.Volume, infer.Err.Error())}, nil
	default:
		return nil, err
	}
}
