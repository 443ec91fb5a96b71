// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// reconciler implements the reconciliation of MachineSets.
type reconciler struct {
	client         clusterclient.ClusterV1alpha1Interface
	sets           controller.Store[*set]
	machines       controller.Store[*machine]
	deployments    clusterlisters.MachineDeploymentLister
	clusters       clusterlisters.ClusterLister
	external       External
	recorder       events.EventRecorder
	now            func() time.Time
	createdObjects *createdObjects
	creationLimits *creationLimits
	// deletedNames contains the names of recently deleted Machines, which are not used again.
	deletedNames *lru.Cache
}

// reconcileRun is one reconcile of a MachineSet.
type reconcileRun struct {
	*reconciler
	key types.NamespacedName
	// set is the object to write. cluster and deployment are nil if they do not exist.
	set        *set
	cluster    *clusterv1alpha1.Cluster
	deployment *clusterv1alpha1.MachineDeployment
	// machines are the Machines of the MachineSet, including the changes of this reconcile.
	machines []*machine
	// templates are read on demand.
	templates []*unstructured.Unstructured
	// isIncomplete is true if the MachineSet must be reconciled again. delay is the time until more Machines may be
	// created.
	isIncomplete bool
	delay        time.Duration
}

// Reconcile creates, updates and deletes Machines of a MachineSet.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.sets.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading MachineSet %s: %w", key, err)
	}
	if stored == nil {
		r.createdObjects.remove(key)
		return controller.Result{}, nil
	}
	p := &reconcileRun{reconciler: r, key: key, set: stored.DeepCopy()}
	if err := p.readOwners(); err != nil {
		return controller.Result{}, err
	}
	paused := members.Paused(p.cluster, p.set, setKind)
	failed := error(nil)
	switch {
	case members.IsOrphaning(p.set): // Also while paused, because pausing must not delete more Machines.
		failed = p.release(ctx)
	case paused.Status == metav1.ConditionFalse:
		failed = p.run(ctx)
	}
	// The status is updated even if the reconcile failed.
	if apierrors.IsConflict(failed) {
		return controller.RequeueOnConflict(failed)
	}
	p.updateStatus(paused, failed)
	if err := r.sets.UpdateStatus(ctx, r.client.MachineSets(key.Namespace), p.set); err != nil {
		return controller.RequeueOnConflict(err)
	}
	if failed != nil {
		return controller.Result{}, fmt.Errorf("MachineSet %s: %w", key, failed)
	}
	if p.delay > 0 {
		return controller.Result{RequeueAfter: p.delay}, nil
	}
	if p.isIncomplete {
		return controller.Result{Requeue: true}, nil
	}
	return controller.Result{RequeueAfter: controller.DefaultResyncPeriod}, nil
}

// release removes the owner references of Machines that are to be orphaned. It lists them from the API server, because
// the cache may be stale.
func (p *reconcileRun) release(ctx context.Context) error {
	machines := p.client.Machines(p.set.Namespace)
	found, err := machines.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the Machines to orphan: %w", err)
	}
	var all []*machine
	for i := range found.Items {
		all = append(all, &found.Items[i])
	}
	if err := controller.RemoveOwner(ctx, p.reconciler.machines, machines, all, p.set.UID); err != nil {
		return err
	}
	members.RemoveOrphanFinalizer(p.set)
	_, err = p.sets.Update(ctx, p.client.MachineSets(p.set.Namespace), p.set)
	return err
}

// readOwners reads the Cluster and the MachineDeployment of the MachineSet.
func (p *reconcileRun) readOwners() error {
	var err error
	if p.cluster, err = controller.IgnoreNotFound(p.clusters.Clusters(p.set.Namespace).Get(p.set.Spec.ClusterName)); err != nil {
		return fmt.Errorf("reading Cluster %s: %w", p.set.Spec.ClusterName, err)
	}
	ref := metav1.GetControllerOf(p.set)
	if ref == nil || ref.Kind != "MachineDeployment" {
		return nil
	}
	deployment, err := controller.IgnoreNotFound(p.deployments.MachineDeployments(p.set.Namespace).Get(ref.Name))
	if err != nil {
		return fmt.Errorf("reading MachineDeployment %s: %w", ref.Name, err)
	}
	if deployment != nil && deployment.UID == ref.UID {
		p.deployment = deployment
	}
	return nil
}

// run performs the steps of a reconcile. It returns the first error, because later steps depend on earlier ones.
func (p *reconcileRun) run(ctx context.Context) error {
	if err := p.setOwnership(ctx); err != nil {
		return err
	}
	if err := p.gather(ctx); err != nil {
		return err
	}
	p.createdObjects.retain(p.key, p.machines)
	if p.set.DeletionTimestamp != nil {
		return nil // The garbage collector deletes what the set owns.
	}
	if err := p.remediate(ctx); err != nil {
		return err
	}
	if err := p.updateInPlace(ctx); err != nil {
		return err
	}
	// A MachineSet with too many Machines is scaled down first: an error in creating objects must not prevent the
	// deletion of a Machine.
	steps := []func(context.Context) error{p.createMissingObjects, p.scale}
	if len(p.machines) > int(p.desiredReplicas()) {
		slices.Reverse(steps)
	}
	for _, do := range steps {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setOwnership sets the cluster label, and the Cluster as owner if the MachineSet belongs to no MachineDeployment.
func (p *reconcileRun) setOwnership(ctx context.Context) error {
	changed := members.SetClusterLabel(p.set, p.set.Spec.ClusterName)
	_, ofDeployment := p.set.Labels[clusterv1alpha1.MachineDeploymentNameLabel]
	if p.cluster != nil && !ofDeployment && !members.IsOwnedBy(p.set, "MachineDeployment") {
		changed = members.AddOwner(p.set, p.cluster) || changed
	}
	if !changed || p.set.DeletionTimestamp != nil {
		return nil
	}
	written, err := p.sets.Update(ctx, p.client.MachineSets(p.set.Namespace), p.set)
	if err == nil {
		p.set = written.DeepCopy()
	}
	return err
}

// gather collects the Machines of the MachineSet, and adopts selected Machines that have no controller.
func (p *reconcileRun) gather(ctx context.Context) error {
	owned, err := p.reconciler.machines.ByIndex(byOwner, string(p.set.UID))
	if err != nil {
		return fmt.Errorf("finding Machines: %w", err)
	}
	for _, m := range owned {
		if metav1.IsControlledBy(m, p.set) && selects(p.set, m) {
			p.machines = append(p.machines, m)
		}
	}
	if p.set.DeletionTimestamp != nil {
		return nil
	}
	free, err := p.reconciler.machines.ByIndex(orphans, p.set.Namespace)
	if err != nil {
		return fmt.Errorf("finding Machines without a controller: %w", err)
	}
	for _, m := range free {
		if metav1.GetControllerOf(m) != nil || m.DeletionTimestamp != nil || !selects(p.set, m) {
			continue
		}
		if err := controller.VerifyOwnerIsLive(ctx, p.client.MachineSets(p.set.Namespace), p.set); err != nil {
			return fmt.Errorf("adopting Machine %s: %w", m.Name, err)
		}
		next := m.DeepCopy()
		members.SetController(next, p.set, setKind)
		adopted, err := p.reconciler.machines.Update(ctx, p.client.Machines(m.Namespace), next)
		if err != nil {
			return fmt.Errorf("adopting Machine %s: %w", m.Name, err)
		}
		p.machines = append(p.machines, adopted)
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulAdopt", "Adopt", "Adopted Machine %s", m.Name)
	}
	return nil
}

// remediate deletes Machines that failed their health check. It writes the condition first, because a Machine that is
// being deleted is not checked again.
func (p *reconcileRun) remediate(ctx context.Context) error {
	all, err := planRemediation(p.set, p.deployment, p.machines)
	if err != nil {
		return err
	}
	for _, r := range all {
		next := p.withCondition(r)
		if err := p.reconciler.machines.UpdateStatus(ctx, p.client.Machines(next.Namespace), next); err != nil {
			return err
		}
		if !r.mustDelete {
			continue
		}
		if err := p.deleteMachine(ctx, r.machine); err != nil {
			return err
		}
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulRemediate", "Remediate", "Deleted Machine %s, which is unhealthy", r.machine.Name)
	}
	return p.refresh()
}

// updateInPlace updates the fields of Machines that can be changed in place.
func (p *reconcileRun) updateInPlace(ctx context.Context) error {
	for i, m := range p.machines {
		next := m.DeepCopy()
		if !propagate(p.set, next) {
			continue
		}
		written, err := p.reconciler.machines.Update(ctx, p.client.Machines(m.Namespace), next)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.machines[i] = written
	}
	return nil
}

// scale creates or deletes Machines until their number is the desired one.
func (p *reconcileRun) scale(ctx context.Context) error {
	switch n := int(p.desiredReplicas()) - len(p.machines); {
	case n > 0 && p.set.Annotations[clusterv1alpha1.DisableMachineCreateAnnotation] != "true":
		if p.cluster == nil {
			return &members.WaitingError{
				Reason: clusterv1alpha1.WaitingForClusterReason, Message: fmt.Sprintf("the Cluster %s does not exist", p.set.Spec.ClusterName),
			}
		}
		p.isIncomplete = n > burst
		return p.create(ctx, min(n, burst))
	case n < 0:
		deleted := 0
		for _, m := range members.FirstToDelete(p.machines, -n, p.set.Spec.Deletion.Order) {
			if m.DeletionTimestamp != nil {
				continue
			}
			if deleted++; deleted > burst {
				p.isIncomplete = true
				break
			}
			if err := p.deleteMachine(ctx, m); err != nil {
				return err
			}
			p.recordEvent(corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "Deleted Machine %s", m.Name)
		}
		return p.refresh()
	}
	return nil
}

// deleteMachine deletes a Machine and updates the cache.
func (p *reconcileRun) deleteMachine(ctx context.Context, m *machine) error {
	machines := p.client.Machines(m.Namespace)
	err := machines.Delete(ctx, m.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(m.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Machine %s: %w", m.Name, err)
	}
	current, err := machines.Get(ctx, m.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		p.reconciler.machines.RecordWrite(current)
	case apierrors.IsNotFound(err):
		p.reconciler.machines.RecordDelete(m)
	default:
		return fmt.Errorf("reading Machine %s, which is being deleted: %w", m.Name, err)
	}
	return nil
}

// refresh replaces p.machines by their cached state.
func (p *reconcileRun) refresh() error {
	var remaining []*machine
	for _, m := range p.machines {
		now, err := p.reconciler.machines.Get(controller.KeyOf(m))
		if err != nil {
			return fmt.Errorf("reading Machine %s: %w", m.Name, err)
		}
		if now != nil && now.UID == m.UID {
			remaining = append(remaining, now)
		}
	}
	p.machines = remaining
	return nil
}

func (p *reconcileRun) recordEvent(kind, reason, action, note string, args ...any) {
	p.recorder.Eventf(p.set, nil, kind, reason, action, "%s", conditions.Note(note, args...))
}
