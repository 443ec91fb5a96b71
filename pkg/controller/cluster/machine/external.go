// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// Objects reads objects of kinds that are not ours.
type Objects interface {
	// Get returns an object, shared, or the API's NotFound when its server says that there
	// is none, which contract.IsGone knows; any other error says nothing of the object.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
}

func referenceOf(ref clusterv1alpha1.ContractVersionedObjectReference) contract.Reference {
	return contract.Reference{Group: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
}

// readExternal reads what the Machine refers to.
func (s *scope) readExternal(ctx context.Context, ref clusterv1alpha1.ContractVersionedObjectReference) external {
	if !ref.IsDefined() {
		return external{}
	}
	o, kind, err := s.objects.Get(ctx, referenceOf(ref), s.machine.Namespace)
	switch {
	case err == nil:
		return external{object: o, kind: kind}
	case contract.IsGone(err):
		return external{kind: kind, gone: true}
	}
	return external{kind: kind, err: err}
}

// takeOver makes the Machine the controller of an object that it refers to, in place of those
// that held it until there was a Machine, and labels it with the Cluster. Where somebody else
// controls the object it is left as it is.
func (s *scope) takeOver(ctx context.Context, e *external) error {
	m := s.machine
	owners, err := s.ownersFor(e.object)
	if err != nil {
		e.foreign = true
		if s.isDeleting() {
			return nil // It is not this Machine's to delete, and keeps nobody.
		}
		e.refused = err
		return err
	}
	if slices.EqualFunc(owners, e.object.GetOwnerReferences(), sameOwner) && e.object.GetLabels()[clusterv1alpha1.ClusterNameLabel] == m.Spec.ClusterName {
		return nil
	}
	if err := s.writes.Admit(e.object); err != nil {
		e.refused = err
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": e.object.GetUID(), "resourceVersion": e.object.GetResourceVersion(),
		"ownerReferences": owners, "labels": map[string]string{clusterv1alpha1.ClusterNameLabel: m.Spec.ClusterName},
	}})
	if err != nil {
		return fmt.Errorf("taking over %s: %w", describe(e.object), err)
	}
	written, err := e.kind.Client.Resource(e.kind.GVR).Namespace(e.object.GetNamespace()).
		Patch(ctx, e.object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err):
		s.again(controller.Conflict) // It has changed meanwhile; by then the cache has it.
		return nil
	case err != nil:
		return fmt.Errorf("taking over %s: %w", describe(e.object), err)
	}
	e.object = written
	return nil
}

// ownersFor are the owners that an object of the Machine is to have.
func (s *scope) ownersFor(o *unstructured.Unstructured) ([]metav1.OwnerReference, error) {
	yes := true
	want := metav1.OwnerReference{
		APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: machineKind, Name: s.machine.Name, UID: s.machine.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
	var owners []metav1.OwnerReference
	placed := false
	for _, owner := range o.GetOwnerReferences() {
		switch {
		case owner.UID == want.UID:
			if !placed {
				owners, placed = append(owners, want), true
			}
		case s.holdsUntilThereIsAMachine(owner):
		case isTrue(owner.Controller):
			return nil, fmt.Errorf("%s is controlled by %s %s and not by this Machine", describe(o), owner.Kind, owner.Name)
		default:
			owners = append(owners, owner)
		}
	}
	if !placed {
		owners = append(owners, want)
	}
	return owners, nil
}

// holdsUntilThereIsAMachine is true for owners that an object gets before there is its Machine.
func (s *scope) holdsUntilThereIsAMachine(owner metav1.OwnerReference) bool {
	if isOurs(owner, machineSetKind) {
		return true
	}
	if s.cluster == nil || !isControlPlane(s.machine) || !s.cluster.Spec.ControlPlaneRef.IsDefined() {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.WithKind(owner.Kind).GroupKind() == s.cluster.Spec.ControlPlaneRef.GroupKind()
}

func isControlPlane(m *machine) bool {
	_, ok := m.Labels[clusterv1alpha1.MachineControlPlaneLabel]
	return ok
}

// sameOwner compares all but whether the deletion of the owner waits for the object.
func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID && isTrue(a.Controller) == isTrue(b.Controller)
}

func describe(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}
