// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/deletion"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/external"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/nodesync"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

type (
	machine    = clusterv1alpha1.Machine
	cluster    = clusterv1alpha1.Cluster
	machineSet = clusterv1alpha1.MachineSet
	deployment = clusterv1alpha1.MachineDeployment
)

// reconciler implements the reconciliation of Machines.
type reconciler struct {
	writer
	clusters    clusterlisters.ClusterLister
	sets        clusterlisters.MachineSetLister
	deployments clusterlisters.MachineDeploymentLister
	external    *external.Reconciler
	nodes       *nodesync.Reconciler
	deletion    *deletion.Reconciler
	deferred    deferrals
	now         func() time.Time
}

// Reconcile updates or deletes a Machine and its objects.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.machines.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading Machine %s: %w", key, err)
	}
	if stored == nil || stored.DeletionTimestamp != nil && !hasFinalizer(stored) {
		r.deferred.forget(key)
		r.nodes.Forget(key)
		return controller.Result{}, nil
	}
	s := &step.State{Stored: stored, Machine: stored.DeepCopy(), Now: r.now()}
	if s.Cluster, err = controller.IgnoreNotFound(r.clusters.Clusters(stored.Namespace).Get(stored.Spec.ClusterName)); err != nil {
		return controller.Result{}, fmt.Errorf("reading Cluster %s: %w", s.ClusterKey(), err)
	}
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues(ownerLogValues(stored)...))
	if wait := r.deferred.remaining(key, inputsOf(stored, s.Cluster), s.Now); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if s.Cluster == nil && !s.IsDeleting() {
		return r.withoutCluster(ctx, s)
	}
	if !hasFinalizer(stored) {
		return finish(s, 0, r.addFinalizer(ctx, s.Machine))
	}
	if paused := members.Paused(s.Cluster, stored, step.MachineKind); paused.Status == metav1.ConditionTrue {
		setCondition(s.Machine, paused)
		if s.IsDeleting() {
			setCondition(s.Machine, members.PausedDeletionCondition(paused))
			setPhase(s)
		}
		return finish(s, 0, r.persistStatus(ctx, s, stored))
	}
	if err := r.readOwners(s); err != nil {
		return controller.Result{}, err
	}
	return r.reconcileObjects(ctx, s)
}

// reconcileObjects reads the referenced objects, runs the steps, and writes the results.
func (r *reconciler) reconcileObjects(ctx context.Context, s *step.State) (controller.Result, error) {
	s.Bootstrap = r.external.Read(ctx, s.Machine.Namespace, s.Machine.Spec.Bootstrap.ConfigRef)
	s.Infra = r.external.Read(ctx, s.Machine.Namespace, s.Machine.Spec.InfrastructureRef)
	r.nodes.Connect(s)
	visit := ctx
	if s.Workload != nil && s.IsDeleting() {
		bounded, done, err := s.Workload.Visit(ctx)
		if errors.Is(err, workload.ErrBusy) {
			return controller.Result{RequeueAfter: controller.Soon}, nil
		}
		if err != nil {
			return controller.Result{}, err
		}
		defer done()
		visit = bounded
	}
	setOwnership(s)
	report, failed := r.runSteps(visit, s)
	if report.IgnoreEventsFor > 0 {
		r.deferred.put(s.Key(), s.Now.Add(report.IgnoreEventsFor), inputsOf(s.Stored, s.Cluster))
	}
	nodeConditions, after := r.nodes.Conditions(s)
	report.RequeueAfter(after)
	report.RequeueAfter(updateStatus(s, report.Deleting, nodeConditions))
	written := r.persist(ctx, s, len(failed) == 0)
	return finish(s, report.After, written, failed...)
}

// runSteps runs all steps in order, even if a previous one has failed.
func (r *reconciler) runSteps(ctx context.Context, s *step.State) (report step.Report, failed []error) {
	steps := []func(context.Context, *step.State) (step.Report, error){r.external.Bootstrap, r.external.Infrastructure, r.nodes.Reconcile, certificates}
	if s.IsDeleting() {
		steps = append(steps, r.deletion.Reconcile)
	}
	for _, reconcile := range steps {
		part, err := reconcile(ctx, s)
		report.Add(part)
		if err != nil {
			failed = append(failed, err)
		}
	}
	return report, failed
}

// finish returns the result of a reconcile. written is the error of its writes, and failed are the errors of its steps.
// A conflict causes another reconcile.
func finish(s *step.State, after time.Duration, written error, failed ...error) (controller.Result, error) {
	report := step.Report{After: after}
	if apierrors.IsConflict(written) {
		report.RequeueAfter(controller.Conflict)
		written = nil
	}
	if err := errors.Join(append(failed, written)...); err != nil {
		return controller.Result{}, fmt.Errorf("machine %s: %w", s.Key(), err)
	}
	return controller.Result{RequeueAfter: report.After}, nil
}

func hasFinalizer(m *machine) bool {
	return slices.Contains(m.Finalizers, clusterv1alpha1.MachineFinalizer)
}

// withoutCluster reports in the conditions that the Cluster does not exist. Its creation is an event.
func (r *reconciler) withoutCluster(ctx context.Context, s *step.State) (controller.Result, error) {
	setCondition(s.Machine, metav1.Condition{
		Type: clusterv1alpha1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.WaitingForClusterReason,
		Message: fmt.Sprintf("the Cluster %s does not exist", s.ClusterKey()),
	})
	setCondition(s.Machine, metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotReadyReason})
	if s.Machine.Status.Phase == "" {
		setPhase(s)
	}
	s.Machine.Status.ObservedGeneration = s.Stored.Generation
	return finish(s, 0, r.persistStatus(ctx, s, s.Stored))
}

// readOwners reads the MachineSet and the MachineDeployment of the Machine. A missing owner is an error unless the
// Machine is being deleted.
func (r *reconciler) readOwners(s *step.State) error {
	name := ownerName(s.Stored, step.MachineSetKind)
	if name == "" {
		return nil
	}
	set, err := r.sets.MachineSets(s.Stored.Namespace).Get(name)
	if err != nil {
		return ownerMissing(s, step.MachineSetKind, name, err)
	}
	s.Set = set
	name = set.Labels[clusterv1alpha1.MachineDeploymentNameLabel]
	if name == "" {
		return nil
	}
	if s.Deployment, err = r.deployments.MachineDeployments(s.Stored.Namespace).Get(name); err != nil {
		s.Deployment = nil
		if apierrors.IsNotFound(err) && metav1.GetControllerOf(set) == nil {
			return nil // It was deleted with --cascade=orphan.
		}
		return ownerMissing(s, "MachineDeployment", name, err)
	}
	return nil
}

func ownerMissing(s *step.State, kind, name string, err error) error {
	if apierrors.IsNotFound(err) && s.IsDeleting() {
		return nil
	}
	return fmt.Errorf("reading %s %s/%s, the owner of Machine %s: %w", kind, s.Stored.Namespace, name, s.Stored.Name, err)
}

// ownerLogValues returns log values that describe the owners of a Machine.
func ownerLogValues(m *machine) []any {
	values := []any{"cluster", m.Spec.ClusterName}
	for _, o := range m.OwnerReferences {
		if step.IsTrue(o.Controller) {
			values = append(values, "owner", o.Kind+"/"+o.Name)
		}
	}
	return values
}
