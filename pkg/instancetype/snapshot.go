// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// PinnedSpec returns a copy of the spec of vm in which every reference pins the
// revision that status names, with name and kind, beside inferFromVolume if
// that is set. It is what a snapshot stores, because status is not stored.
func PinnedSpec(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineSpec {
	spec := vm.Spec.DeepCopy()
	for _, role := range []Role{RoleInstancetype, RolePreference} {
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

// RefsFromPins is the inverse of PinnedSpec: the status references that a
// restored spec stands for. The pins stay in the spec. A matcher without pin,
// or without name, has no reference yet.
func RefsFromPins(
	spec *vmv1alpha1.VirtualMachineSpec,
) (*vmv1alpha1.InstancetypeRef, *vmv1alpha1.PreferenceRef, error) {
	instancetype, err := refFromPin(spec, RoleInstancetype)
	if err != nil {
		return nil, nil, err
	}
	preference, err := refFromPin(spec, RolePreference)
	if err != nil {
		return nil, nil, err
	}
	return instancetype, (*vmv1alpha1.PreferenceRef)(preference), nil
}

func refFromPin(spec *vmv1alpha1.VirtualMachineSpec, role Role) (*vmv1alpha1.InstancetypeRef, error) {
	m := matcher(spec, role)
	if m == nil || pin(m) == "" || m.Name == "" {
		return nil, nil
	}
	kind, err := ParseKind(role, m.Kind)
	if err != nil {
		return nil, fmt.Errorf("restoring the %s reference: %w", role.noun(), err)
	}
	return &vmv1alpha1.InstancetypeRef{
		Name:                         m.Name,
		Kind:                         string(kind),
		ControllerRevisionRef:        &vmv1alpha1.ControllerRevisionRef{Name: pin(m)},
		InferFromVolume:              m.InferFromVolume,
		InferFromVolumeFailurePolicy: copyPolicy(m.InferFromVolumeFailurePolicy),
	}, nil
}

// Adopt returns what a restored or cloned virtual machine needs to stand alone:
// for every revision that its spec pins and that belongs to another owner, a
// copy owned by vm, and the copy of vm whose spec pins these. The copies must
// be created before the returned vm is used.
func Adopt(vm *vmv1alpha1.VirtualMachine, r Reader) (*vmv1alpha1.VirtualMachine, []*appsv1.ControllerRevision, error) {
	out := vm.DeepCopy()
	var create []*appsv1.ControllerRevision
	for _, role := range []Role{RoleInstancetype, RolePreference} {
		m := matcher(&out.Spec, role)
		if m == nil || pin(m) == "" {
			continue
		}
		revision, err := r.Revision(vm.Namespace, pin(m))
		if err != nil {
			return nil, nil, fmt.Errorf("reading ControllerRevision %q: %w", pin(m), err)
		}
		if OwnedBy(revision, vm) {
			continue
		}
		object, err := DecodeRevision(role, revision)
		if err != nil {
			return nil, nil, err
		}
		own, err := NewRevision(vm, object)
		if err != nil {
			return nil, nil, err
		}
		create = append(create, own)
		m.RevisionName = ""
		m.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: own.Name}
	}
	return out, create, nil
}
