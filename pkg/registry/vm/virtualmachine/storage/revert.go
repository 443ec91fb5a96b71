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

// admitRevert rejects a revert to an object that is not a snapshot of the virtual machine. Other references may
// become valid later. This one would revert the VM unexpectedly as soon as a snapshot with that name is taken. A new
// virtual machine has no snapshots and cannot request a revert. A recovered virtual machine can, because its
// snapshots are recovered after it.
func (r *REST) admitRevert(ctx context.Context, vm, old *vmv1alpha1.VirtualMachine) (field.ErrorList, error) {
	name := vm.Spec.CurrentSnapshotName
	if name == "" || old != nil && name == old.Spec.CurrentSnapshotName {
		return nil, nil
	}
	path := field.NewPath("spec", "currentSnapshotName")
	if old == nil {
		if _, recovered := vm.Annotations[vmv1alpha1.AnnotationRecovered]; recovered {
			return nil, nil
		}
		return field.ErrorList{field.Forbidden(path, "a new VirtualMachine has no snapshots: create it without this field, and set the field when a VirtualMachineSnapshot of it is Ready")}, nil
	}
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
