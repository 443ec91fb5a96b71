// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
)

// memberKind is a kind of member with the Cluster's objects of that kind.
type memberKind struct {
	name    string
	objects []metav1.Object
	remove  func(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// continueDeletion continues the deletion of the Cluster. The Deleting condition shows its error.
func (p *reconcileRun) continueDeletion(ctx context.Context) error {
	err := p.deleteNext(ctx)
	if err != nil {
		p.observed.deletingReason, p.observed.deletingMessage = clusterv1alpha1.InternalErrorReason, err.Error()
	}
	return err
}

// deleteNext performs the next step of the deletion. It removes the finalizer when nothing is left.
func (p *reconcileRun) deleteNext(ctx context.Context) error {
	f := p.observed
	if !slices.Contains(p.cluster.Finalizers, clusterv1alpha1.ClusterFinalizer) {
		f.deletingReason, f.deletingMessage = clusterv1alpha1.DeletionCompletedReason, "Deletion completed"
		return nil
	}
	left, err := p.deleteMembers(ctx)
	if err != nil {
		return err
	}
	if left != "" {
		f.deletingReason, f.deletingMessage = clusterv1alpha1.WaitingForWorkersDeletionReason, left
		return nil
	}
	for _, step := range []struct {
		of     *externalObject
		reason string
	}{
		{&f.controlPlane, clusterv1alpha1.WaitingForControlPlaneDeletionReason},
		{&f.infrastructure, clusterv1alpha1.WaitingForInfrastructureDeletionReason},
	} {
		switch gone, err := p.deleteExternal(ctx, step.of); {
		case err != nil:
			return err
		case !gone:
			f.deletingReason, f.deletingMessage = step.reason, fmt.Sprintf("Waiting for %s to be deleted", step.of.ref.Kind)
			return nil
		}
	}
	p.cluster.Finalizers = slices.DeleteFunc(p.cluster.Finalizers, func(name string) bool { return name == clusterv1alpha1.ClusterFinalizer })
	p.recordEvent("Deleted", "Delete", "Cluster "+p.key.Name+" has been deleted")
	if _, err := p.clusters.Update(ctx, p.client.Clusters(p.key.Namespace), p.cluster); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	p.cluster = nil
	return nil
}

// deleteMembers deletes MachineDeployments, MachineSets and Machines, and returns the names of those that are left. If
// there is a control plane object, it deletes the Machines of the control plane.
func (p *reconcileRun) deleteMembers(ctx context.Context) (left string, err error) {
	kinds := []memberKind{
		{"MachineDeployments", membersOf(p.deployments, p.key.String()), p.client.MachineDeployments(p.key.Namespace).Delete},
		{"MachineSets", membersOf(p.sets, p.key.String()), p.client.MachineSets(p.key.Namespace).Delete},
		{"Machines", slices.DeleteFunc(membersOf(p.machines, p.key.String()), p.isControlPlaneMachine), p.client.Machines(p.key.Namespace).Delete},
	}
	var all []string
	for _, k := range kinds {
		var names []string
		for _, o := range k.objects {
			names = append(names, o.GetName())
			if o.GetDeletionTimestamp() != nil || metav1.GetControllerOfNoCopy(o) != nil {
				continue // It is deleted together with its controller.
			}
			err := k.remove(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
			if err != nil && !apierrors.IsNotFound(err) {
				return "", fmt.Errorf("deleting %s of %s: %w", o.GetName(), k.name, err)
			}
		}
		if slices.Sort(names); len(names) > 0 {
			all = append(all, k.name+": "+conditions.JoinLimited(names, ", "))
		}
	}
	if len(all) > 0 {
		return strings.Join(all, "; "), nil
	}
	// The cache may be stale, so the API server is queried before the next step.
	found, err := p.client.Machines(p.key.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.clusterName", p.key.Name).String(),
	})
	if err != nil {
		return "", fmt.Errorf("listing the remaining Machines: %w", err)
	}
	for i := range found.Items {
		if m := &found.Items[i]; m.Spec.ClusterName == p.key.Name && !p.isControlPlaneMachine(m) {
			return "Machines: " + m.Name, nil
		}
	}
	return "", nil
}

// isControlPlaneMachine reports whether a Machine is deleted by the control plane object.
func (p *reconcileRun) isControlPlaneMachine(o metav1.Object) bool {
	_, is := o.GetLabels()[clusterv1alpha1.MachineControlPlaneLabel]
	return is && p.observed.controlPlane.isDefined()
}

func membersOf(of cache.Indexer, in string) []metav1.Object {
	found, err := of.ByIndex(byCluster, in)
	if err != nil {
		return nil // New has added the index.
	}
	var all []metav1.Object
	for _, obj := range found {
		if o, ok := obj.(metav1.Object); ok {
			all = append(all, o)
		}
	}
	return all
}

// deleteExternal deletes an object and reports whether it no longer exists. An object that cannot be read counts as
// existing.
func (p *reconcileRun) deleteExternal(ctx context.Context, e *externalObject) (deleted bool, err error) {
	if !e.isDefined() || e.isNotFound() {
		return true, nil
	}
	if e.err != nil {
		return false, e.err
	}
	if e.object.GetDeletionTimestamp() != nil {
		return false, nil
	}
	err = e.kind.Client.Resource(e.kind.GVR).Namespace(p.key.Namespace).Delete(ctx, e.ref.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(e.object.GetUID())),
	})
	if err != nil && !contract.IsNotFound(err) {
		return false, fmt.Errorf("deleting %s %s: %w", e.ref.Kind, e.ref.Name, err)
	}
	return false, nil
}
