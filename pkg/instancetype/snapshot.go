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

// PinnedSpec returns a copy of the spec of vm in which every reference pins the
// revision that status names, with name and kind, beside inferFromVolume if
// that is set. It is what a snapshot stores, because status is not stored.
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

// Adopt returns what a restored or cloned virtual machine needs in its namespace: the
// revisions that its spec pins and that are not there, and the copy of vm whose spec
// pins these. saved are the revisions as they were at the snapshot; a pinned one that
// is not among them is read. The revisions must be created before the returned vm is
// used.
func Adopt(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, saved []*itv1alpha1.ControllerRevision, r Reader,
) (*vmv1alpha1.VirtualMachine, []*itv1alpha1.ControllerRevision, error) {
	out := vm.DeepCopy()
	var missing []*itv1alpha1.ControllerRevision
	for _, role := range roles {
		m := matcher(&out.Spec, role)
		if m == nil || pin(m) == "" {
			continue
		}
		object, err := pinnedObject(ctx, vm.Namespace, pin(m), role, saved, r)
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
			if err := Same(existing.Revision, needed); err != nil {
				return nil, nil, err
			}
		}
	}
	return out, missing, nil
}

// pinnedObject is what the revision called name holds, or held when it was saved.
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
