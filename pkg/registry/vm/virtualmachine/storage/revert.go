// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// admitRevert refuses to ask for a revert to what is no snapshot of the VM. Other references may
// come true later; this one would have the VM reverted at once, at a time that nobody expects, when
// somebody takes a snapshot of the name. A VM that is created, as one that is recovered, may name
// one that is made after it.
func (r *REST) admitRevert(ctx context.Context, vm, old *vmv1alpha1.VirtualMachine) (field.ErrorList, error) {
	name := vm.Spec.CurrentSnapshotName
	if old == nil || name == "" || name == old.Spec.CurrentSnapshotName {
		return nil, nil
	}
	path := field.NewPath("spec", "currentSnapshotName")
	s, err := r.readers.Snapshot(ctx, vm.Namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return field.ErrorList{field.NotFound(path, name)}, nil
	case err != nil:
		return nil, fmt.Errorf("reading VirtualMachineSnapshot %q: %w", name, err)
	case s.Spec.VMName != vm.Name:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("is a snapshot of VirtualMachine %q", s.Spec.VMName))}, nil
	}
	return nil, nil
}
