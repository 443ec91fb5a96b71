// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// reconciler implements the reconciliation of MachineDeployments.
type reconciler struct {
	client      clusterclient.ClusterV1alpha1Interface
	deployments controller.Store[*deployment]
	sets        controller.Store[*set]
	machines    cache.Indexer
	clusters    clusterlisters.ClusterLister
	recorder    events.EventRecorder
	now         func() time.Time
}

// reconcileRun is one reconcile of a MachineDeployment.
type reconcileRun struct {
	*reconciler
	// deployment is the object to write. cluster is nil if it does not exist.
	deployment *deployment
	cluster    *clusterv1alpha1.Cluster
	// setStates are the MachineSets of the MachineDeployment. plan contains their desired replicas.
	setStates []*setState
	plan      *plan
}

// Reconcile creates, updates and deletes MachineSets of a MachineDeployment.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.deployments.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading MachineDeployment %s: %w", key, err)
	}
	if stored == nil {
		return controller.Result{}, nil
	}
	p := &reconcileRun{reconciler: r, deployment: stored.DeepCopy()}
	if p.cluster, err = controller.IgnoreNotFound(r.clusters.Clusters(key.Namespace).Get(stored.Spec.ClusterName)); err != nil {
		return controller.Result{}, fmt.Errorf("reading Cluster %s: %w", stored.Spec.ClusterName, err)
	}
	paused := members.Paused(p.cluster, p.deployment, deploymentKind)
	failed := error(nil)
	switch {
	case members.IsOrphaning(p.deployment): // Also while paused, because pausing must not delete more objects.
		failed = p.release(ctx)
	case paused.Status == metav1.ConditionFalse:
		failed = p.run(ctx)
	}
	if apierrors.IsConflict(failed) {
		return controller.RequeueOnConflict(failed)
	}
	p.updateStatus(paused, failed)
	if err := r.deployments.UpdateStatus(ctx, r.client.MachineDeployments(key.Namespace), p.deployment); err != nil {
		return controller.RequeueOnConflict(err)
	}
	if failed != nil {
		return controller.Result{}, fmt.Errorf("MachineDeployment %s: %w", key, failed)
	}
	again := controller.DefaultResyncPeriod
	if p.plan != nil && !p.plan.until.IsZero() {
		again = min(again, max(p.plan.until.Sub(r.now()), time.Millisecond))
	}
	return controller.Result{RequeueAfter: again}, nil
}

// release removes the owner references of MachineSets that are to be orphaned. It lists them from the API server,
// because the cache may be stale.
func (p *reconcileRun) release(ctx context.Context) error {
	sets := p.client.MachineSets(p.deployment.Namespace)
	found, err := sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the MachineSets to orphan: %w", err)
	}
	var all []*set
	for i := range found.Items {
		all = append(all, &found.Items[i])
	}
	if err := controller.RemoveOwner(ctx, p.sets, sets, all, p.deployment.UID); err != nil {
		return err
	}
	members.RemoveOrphanFinalizer(p.deployment)
	_, err = p.deployments.Update(ctx, p.client.MachineDeployments(p.deployment.Namespace), p.deployment)
	return err
}

// run performs the steps of a reconcile. It returns the first error.
func (p *reconcileRun) run(ctx context.Context) error {
	if err := p.gather(ctx); err != nil {
		return err
	}
	if p.deployment.DeletionTimestamp != nil {
		return nil // The garbage collector deletes what the deployment owns.
	}
	p.plan = newPlan(p.deployment, p.setStates, p.isNameUsed, p.now())
	for _, v := range p.plan.all() {
		if err := p.write(ctx, v); err != nil {
			return err
		}
	}
	if err := p.setOwnership(ctx); err != nil {
		return err
	}
	for _, v := range p.plan.setsToDelete() {
		sets := p.client.MachineSets(v.set.Namespace)
		err := sets.Delete(ctx, v.set.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.set.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting MachineSet %s: %w", v.set.Name, err)
		}
		p.sets.RecordDelete(v.set)
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "Deleted MachineSet %s", v.set.Name)
	}
	return nil
}

// gather collects the MachineSets of the MachineDeployment with their Machines. It adopts selected MachineSets that
// have no controller.
func (p *reconcileRun) gather(ctx context.Context) error {
	owned, err := p.sets.ByIndex(ofDeployment, string(p.deployment.UID))
	if err != nil {
		return fmt.Errorf("finding MachineSets: %w", err)
	}
	var mine []*set
	for _, s := range owned {
		// An owner reference to an object in another namespace is not valid.
		if s.Namespace == p.deployment.Namespace && metav1.IsControlledBy(s, p.deployment) {
			mine = append(mine, s)
		}
	}
	if p.deployment.DeletionTimestamp == nil {
		adopted, err := p.adopt(ctx)
		if err != nil {
			return err
		}
		mine = append(mine, adopted...)
	}
	for _, s := range mine {
		found, err := p.machines.ByIndex(ofSet, string(s.UID))
		if err != nil {
			return fmt.Errorf("finding Machines: %w", err)
		}
		var machines []*machine
		for _, obj := range found {
			if m, ok := obj.(*machine); ok && m.Namespace == s.Namespace && members.IsSelected(&s.Spec.Selector, s.Spec.ClusterName, m) {
				machines = append(machines, m)
			}
		}
		p.setStates = append(p.setStates, newSetState(s, machines))
	}
	return nil
}

func (p *reconcileRun) adopt(ctx context.Context) ([]*set, error) {
	free, err := p.sets.ByIndex(orphans, p.deployment.Namespace)
	if err != nil {
		return nil, fmt.Errorf("finding MachineSets without a controller: %w", err)
	}
	var adopted []*set
	for _, s := range free {
		if metav1.GetControllerOf(s) != nil || s.DeletionTimestamp != nil || !selects(p.deployment, s) {
			continue
		}
		if err := controller.VerifyOwnerIsLive(ctx, p.client.MachineDeployments(p.deployment.Namespace), p.deployment); err != nil {
			return nil, fmt.Errorf("adopting MachineSet %s: %w", s.Name, err)
		}
		next := s.DeepCopy()
		members.SetController(next, p.deployment, deploymentKind)
		written, err := p.sets.Update(ctx, p.client.MachineSets(s.Namespace), next)
		if err != nil {
			return nil, fmt.Errorf("adopting MachineSet %s: %w", s.Name, err)
		}
		adopted = append(adopted, written)
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulAdopt", "Adopt", "Adopted MachineSet %s", s.Name)
	}
	return adopted, nil
}

// isNameUsed reports whether a MachineSet with this name exists.
func (p *reconcileRun) isNameUsed(name string) bool {
	s, err := p.sets.Get(types.NamespacedName{Namespace: p.deployment.Namespace, Name: name})
	return err == nil && s != nil
}

// write creates or updates a MachineSet according to the plan.
func (p *reconcileRun) write(ctx context.Context, v *setState) error {
	next := p.plan.desired(v)
	sets := p.client.MachineSets(next.Namespace)
	if v.set.UID == "" {
		created, err := p.create(ctx, next)
		if err == nil {
			v.set = created
		}
		return err
	}
	if v.set.DeletionTimestamp != nil || equality.Semantic.DeepEqual(v.set, next) {
		return nil
	}
	written, err := p.sets.Update(ctx, sets, next)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if v.replicas != v.specReplicas() {
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulScale", "Scale", "Scaled MachineSet %s: %d -> %d", next.Name, v.specReplicas(), v.replicas)
	}
	v.set = written
	return nil
}

// create creates a MachineSet. If it already exists, it updates the cache and returns an error.
func (p *reconcileRun) create(ctx context.Context, s *set) (*set, error) {
	sets := p.client.MachineSets(s.Namespace)
	created, err := sets.Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if created, err = sets.Get(ctx, s.Name, metav1.GetOptions{}); err == nil {
			p.sets.RecordWrite(created) // The next reconcile reuses it or chooses another name.
			err = fmt.Errorf("creating MachineSet %s: it already exists", s.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating MachineSet %s: %w", s.Name, err)
	}
	p.sets.RecordWrite(created)
	p.recordEvent(corev1.EventTypeNormal, "SuccessfulCreate", "Create", "Created MachineSet %s with %d replicas", created.Name, *created.Spec.Replicas)
	return created, nil
}

// setOwnership sets the cluster label, the Cluster as owner, and the revision annotation.
func (p *reconcileRun) setOwnership(ctx context.Context) error {
	d := p.deployment
	changed := members.SetClusterLabel(d, d.Spec.ClusterName)
	if p.cluster != nil {
		changed = members.AddOwner(d, p.cluster) || changed
	}
	if revision := p.plan.revision(); revision != "" && d.Annotations[clusterv1alpha1.RevisionAnnotation] != revision {
		d.Annotations, changed = withEntry(d.Annotations, clusterv1alpha1.RevisionAnnotation, revision), true
	}
	if !changed {
		return nil
	}
	written, err := p.deployments.Update(ctx, p.client.MachineDeployments(d.Namespace), d)
	if err == nil {
		p.deployment = written.DeepCopy()
	}
	return err
}

func (p *reconcileRun) recordEvent(kind, reason, action, note string, args ...any) {
	p.recorder.Eventf(p.deployment, nil, kind, reason, action, "%s", conditions.Note(note, args...))
}
