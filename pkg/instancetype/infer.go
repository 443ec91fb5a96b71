// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// bootImage is the value of inferFromVolume that refers to the image of the virtual machine.
const bootImage = "image"

// target returns the object that vm refers to in role. It returns nil if nothing can be inferred under the policy
// Ignore. An inferred object, or the result that nothing can be inferred, is kept until the revision in status is
// cleared.
func target(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, r Reader) (*identity, error) {
	m := matcher(&vm.Spec, role)
	if m.Name != "" || m.InferFromVolume == "" {
		return explicitTarget(m, role)
	}
	ref := StatusRef(vm, role)
	if ref == nil || ref.InferFromVolume != m.InferFromVolume {
		return inferTarget(ctx, vm, role, r)
	}
	if ref.ControllerRevisionRef != nil {
		kind, err := ParseKind(role, ref.Kind)
		if err != nil {
			return nil, err
		}
		return &identity{kind: kind, name: ref.Name}, nil
	}
	if ref.Name == "" && ignoresFailure(m) {
		return nil, nil
	}
	return inferTarget(ctx, vm, role, r)
}

// inferTarget is like target but ignores earlier results.
func inferTarget(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, r Reader) (*identity, error) {
	m := matcher(&vm.Spec, role)
	if m.Name != "" || m.InferFromVolume == "" {
		return explicitTarget(m, role)
	}
	inferred, err := infer(ctx, vm, role, m.InferFromVolume, r)
	var failed *InferError
	if errors.As(err, &failed) && failed.Ignorable && ignoresFailure(m) {
		return nil, nil
	}
	return inferred, err
}

// EmptyInferredRef returns the reference for status if nothing can be inferred under the policy Ignore. It has no name. A
// label that is added later has no effect until a refresh.
func EmptyInferredRef(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.InstancetypeRef {
	m := matcher(&vm.Spec, role)
	return &vmv1alpha1.InstancetypeRef{
		InferFromVolume:              m.InferFromVolume,
		InferFromVolumeFailurePolicy: copyPolicy(m.InferFromVolumeFailurePolicy),
	}
}

func explicitTarget(m *vmv1alpha1.InstancetypeMatcher, role Role) (*identity, error) {
	kind, err := ParseKind(role, m.Kind)
	if err != nil {
		return nil, err
	}
	if m.Name == "" {
		return nil, &apply.Error{Problems: []apply.Problem{{
			Kind: apply.InvalidProblem, Field: "spec." + string(role), Message: "name or inferFromVolume is required",
		}}}
	}
	return &identity{kind: kind, name: m.Name}, nil
}

func ignoresFailure(m *vmv1alpha1.InstancetypeMatcher) bool {
	return m.InferFromVolumeFailurePolicy != nil &&
		*m.InferFromVolumeFailurePolicy == vmv1alpha1.InferFromVolumeFailureIgnore
}

// infer reads the labels of the volume, and then the labels of the image from which it was created. The error is an
// *InferError.
func infer(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, volume string, r Reader) (*identity, error) {
	found, ignorable, err := inferFrom(ctx, vm, role, volume, r)
	if err != nil {
		return nil, &InferError{Role: role, Volume: volume, Ignorable: ignorable, Err: err}
	}
	return found, nil
}

func inferFrom(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, volume string, r Reader) (*identity, bool, error) {
	for i := range vm.Spec.Volumes {
		v := &vm.Spec.Volumes[i]
		if v.Name != volume {
			continue
		}
		if v.PersistentVolumeClaim == nil {
			return nil, true, errors.New("the volume must have a persistentVolumeClaim")
		}
		return inferFromClaim(ctx, vm.Namespace, v.PersistentVolumeClaim.ClaimName, role, r)
	}
	if volume != bootImage {
		return nil, false, fmt.Errorf("spec.volumes has no volume %q", volume)
	}
	if vm.Spec.Image == nil {
		return nil, false, errors.New("the virtual machine has no spec.image")
	}
	return inferFromImage(ctx, vm.Namespace, *vm.Spec.Image, role, r)
}

func inferFromClaim(ctx context.Context, namespace, name string, role Role, r Reader) (*identity, bool, error) {
	claim, err := r.PersistentVolumeClaim(ctx, namespace, name)
	if err != nil {
		return nil, false, fmt.Errorf("reading PersistentVolumeClaim %q: %w", name, err)
	}
	found, err := fromLabels(claim.Labels, role)
	if found != nil || err != nil {
		return found, false, err
	}
	image, ok := claimImage(claim)
	if !ok {
		return nil, true, fmt.Errorf("PersistentVolumeClaim %q has no label %s and was not created from an image",
			name, defaultLabel(role))
	}
	return inferFromImage(ctx, namespace, image, role, r)
}

// claimImage returns the image from which a claim was created, if any.
func claimImage(claim *corev1.PersistentVolumeClaim) (vmv1alpha1.VirtualMachineImageRef, bool) {
	source := claim.Spec.DataSourceRef
	if source == nil || source.APIGroup == nil || *source.APIGroup != vmv1alpha1.GroupName ||
		source.Kind != vmv1alpha1.ImageKind && source.Kind != vmv1alpha1.ClusterImageKind {
		return vmv1alpha1.VirtualMachineImageRef{}, false
	}
	return vmv1alpha1.VirtualMachineImageRef{Kind: source.Kind, Name: source.Name}, true
}

func inferFromImage(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef, role Role, r Reader) (*identity, bool, error) {
	kind := cmp.Or(ref.Kind, vmv1alpha1.DefaultImageKind)
	image, err := r.Image(ctx, namespace, ref)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s %q: %w", kind, ref.Name, err)
	}
	found, err := fromLabels(image.Labels, role)
	if found != nil || err != nil {
		return found, false, err
	}
	return nil, true, fmt.Errorf("%s %q has no label %s", kind, ref.Name, defaultLabel(role))
}

// fromLabels returns the object that the labels specify, or nil.
func fromLabels(labels map[string]string, role Role) (*identity, error) {
	name := labels[defaultLabel(role)]
	if name == "" {
		return nil, nil
	}
	kindLabel := vmv1alpha1.LabelDefaultInstancetypeKind
	if role == RolePreference {
		kindLabel = vmv1alpha1.LabelDefaultPreferenceKind
	}
	kind, err := ParseKind(role, labels[kindLabel])
	if err != nil {
		return nil, err
	}
	return &identity{kind: kind, name: name}, nil
}

func defaultLabel(role Role) string {
	if role == RolePreference {
		return vmv1alpha1.LabelDefaultPreference
	}
	return vmv1alpha1.LabelDefaultInstancetype
}
