// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Capture returns the status reference of vm for what Find found, and the
// revision that must exist before that reference is written; nil when it does
// already. A reference that was found as nothing has no status reference.
func Capture(
	vm *vmv1alpha1.VirtualMachine, role Role, found *Found, r Reader,
) (*vmv1alpha1.InstancetypeRef, *appsv1.ControllerRevision, error) {
	m := matcher(&vm.Spec, role)
	if m == nil || found == nil {
		return nil, nil, nil
	}
	name := found.Revision
	var create *appsv1.ControllerRevision
	// Without a UID, as in the oldest format, there is no name to upgrade to.
	if name == "" || (found.upgrade && found.Object.Meta.UID != "") {
		revision, err := NewRevision(vm, found.Object)
		if err != nil {
			return nil, nil, err
		}
		create, name = revision, revision.Name
	}
	ref := &vmv1alpha1.InstancetypeRef{
		Name:                         found.Object.Meta.Name,
		Kind:                         string(found.Object.Kind),
		ControllerRevisionRef:        &vmv1alpha1.ControllerRevisionRef{Name: name},
		SourceUID:                    string(found.Object.Meta.UID),
		SourceGeneration:             found.Object.Meta.Generation,
		InferFromVolume:              m.InferFromVolume,
		InferFromVolumeFailurePolicy: copyPolicy(m.InferFromVolumeFailurePolicy),
	}
	setDrift(vm, role, ref, r)
	return ref, create, nil
}

// setDrift compares the captured object with the live one. When the live one
// cannot be read, what is known stays.
func setDrift(vm *vmv1alpha1.VirtualMachine, role Role, ref *vmv1alpha1.InstancetypeRef, r Reader) {
	kind := Kind(ref.Kind)
	live, err := r.Source(kind, sourceNamespace(kind, vm), ref.Name)
	switch {
	case err == nil:
		ref.LatestGeneration = live.Meta.Generation
		ref.Outdated = string(live.Meta.UID) != ref.SourceUID || live.Meta.Generation != ref.SourceGeneration
	case apierrors.IsNotFound(err):
		ref.LatestGeneration, ref.Outdated = 0, false
	default:
		if old := StatusRef(vm, role); old != nil {
			ref.LatestGeneration, ref.Outdated = old.LatestGeneration, old.Outdated
		}
	}
}

func copyPolicy(in *vmv1alpha1.InferFromVolumeFailurePolicy) *vmv1alpha1.InferFromVolumeFailurePolicy {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
