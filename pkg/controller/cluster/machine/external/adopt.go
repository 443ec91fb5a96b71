// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// adopt sets the Machine as the controller of a referenced object, and sets the cluster label. It replaces owners that
// control an object only until its Machine exists. It does not change an object with another controller. It then reads
// the failure that the provider reports.
func (r *Reconciler) adopt(ctx context.Context, s *step.State, e *step.External, report *step.Report) (ours bool, err error) {
	owners, err := ownersFor(s, e)
	if err != nil {
		e.HasOtherController = true
		if s.IsDeleting() {
			return false, nil // The object is not deleted, and does not block the deletion.
		}
		e.RejectedErr = err
		return false, err
	}
	if !slices.EqualFunc(owners, e.Object.GetOwnerReferences(), sameOwner) || e.Object.GetLabels()[clusterv1alpha1.ClusterNameLabel] != s.Machine.Spec.ClusterName {
		if err := r.patch(ctx, s, e, owners, report); err != nil {
			return false, err
		}
	}
	e.FailureReason, e.FailureMessage, err = contract.Failure(e.Object)
	return err == nil, err
}

// patch writes owners and the cluster label.
func (r *Reconciler) patch(ctx context.Context, s *step.State, e *step.External, owners []metav1.OwnerReference, report *step.Report) error {
	if err := r.Writes.Admit(e.Object); err != nil {
		e.RejectedErr = err
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": e.Object.GetUID(), "resourceVersion": e.Object.GetResourceVersion(),
		"ownerReferences": owners, "labels": map[string]string{clusterv1alpha1.ClusterNameLabel: s.Machine.Spec.ClusterName},
	}})
	if err != nil {
		return fmt.Errorf("adopting %s: %w", e.Describe(), err)
	}
	written, err := e.Kind.Client.Resource(e.Kind.GVR).Namespace(e.Object.GetNamespace()).
		Patch(ctx, e.Object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err):
		report.RequeueAfter(controller.Conflict) // The cache will contain the change by then.
		return nil
	case err != nil:
		return fmt.Errorf("adopting %s: %w", e.Describe(), err)
	}
	e.Object = written
	return nil
}

// ownersFor returns the owners of an object of the Machine.
func ownersFor(s *step.State, e *step.External) ([]metav1.OwnerReference, error) {
	yes := true
	desired := metav1.OwnerReference{
		APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: step.MachineKind, Name: s.Machine.Name, UID: s.Machine.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
	var owners []metav1.OwnerReference
	isAdded := false
	for _, owner := range e.Object.GetOwnerReferences() {
		switch {
		case owner.UID == desired.UID:
			if !isAdded {
				owners, isAdded = append(owners, desired), true
			}
		case isTemporaryOwner(s, owner):
		case step.IsTrue(owner.Controller):
			return nil, fmt.Errorf("%s is controlled by %s %s and not by this Machine", e.Describe(), owner.Kind, owner.Name)
		default:
			owners = append(owners, owner)
		}
	}
	if !isAdded {
		owners = append(owners, desired)
	}
	return owners, nil
}

// isTemporaryOwner reports whether an owner controls an object only until its Machine exists.
func isTemporaryOwner(s *step.State, owner metav1.OwnerReference) bool {
	if step.IsOwnKind(owner, step.MachineSetKind) {
		return true
	}
	if s.Cluster == nil || !step.IsControlPlane(s.Machine) || !s.Cluster.Spec.ControlPlaneRef.IsDefined() {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.WithKind(owner.Kind).GroupKind() == s.Cluster.Spec.ControlPlaneRef.GroupKind()
}

// sameOwner compares all fields except blockOwnerDeletion.
func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID && step.IsTrue(a.Controller) == step.IsTrue(b.Controller)
}
