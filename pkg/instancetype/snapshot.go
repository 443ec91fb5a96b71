// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// PinnedSpec returns a copy of vm's spec in which every reference specifies the revision, the name and the kind in
// status. It keeps inferFromVolume. Snapshots store this spec, because they do not store the status.
func PinnedSpec(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineSpec {
	spec := vm.Spec.DeepCopy()
	for _, role := range roles {
		m, ref := matcher(spec, role), StatusRef(vm, role)
		if m == nil || ref == nil || ref.ControllerRevisionRef == nil {
			continue
		}
		m.Name, m.Kind = ref.Name, ref.Kind
		m.RevisionName = ""
		m.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: ref.ControllerRevisionRef.Name}
	}
	return spec
}

// PrepareRestored prepares a restored or cloned virtual machine for its namespace. It returns the missing revisions, and a copy
// of vm whose spec refers to the revisions in the namespace. saved are the revisions from the snapshot; other revisions
// are read. The caller must create the missing revisions before it uses the returned vm.
func PrepareRestored(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, saved []*itv1alpha1.ControllerRevision, r Reader,
) (*vmv1alpha1.VirtualMachine, []*itv1alpha1.ControllerRevision, error) {
	out := vm.DeepCopy()
	var missing []*itv1alpha1.ControllerRevision
	for _, role := range roles {
		m := matcher(&out.Spec, role)
		if m == nil || pinnedName(m) == "" {
			continue
		}
		object, err := pinnedObject(ctx, vm.Namespace, pinnedName(m), role, saved, r)
		if err != nil {
			return nil, nil, err
		}
		needed, err := NewRevision(vm.Namespace, object)
		if err != nil {
			return nil, nil, err
		}
		m.RevisionName = ""
		m.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: needed.Name}
		existing, err := r.Revision(ctx, vm.Namespace, needed.Name)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, needed)
		case err != nil:
			return nil, nil, fmt.Errorf("reading ControllerRevision %q: %w", needed.Name, err)
		default:
			if err := CheckSameContent(existing.Revision, needed); err != nil {
				return nil, nil, err
			}
		}
	}
	return out, missing, nil
}

// pinnedObject returns the object in the revision called name, from saved if it is included there.
func pinnedObject(ctx context.Context, namespace, name string, role Role, saved []*itv1alpha1.ControllerRevision, r Reader) (*Object, error) {
	for _, revision := range saved {
		if revision.Name == name {
			return Decode(revision).Object(role)
		}
	}
	revision, err := r.Revision(ctx, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %q: %w", name, err)
	}
	return revision.Object(role)
}
