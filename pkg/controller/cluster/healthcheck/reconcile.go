// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// reconciler implements the reconciliation of MachineHealthChecks.
type reconciler struct {
	client   clusterclient.ClusterV1alpha1Interface
	checks   controller.Store[*check]
	machines controller.Store[*machine]
	clusters clusterlisters.ClusterLister
	nodes    Nodes
	external External
	recorder events.EventRecorder
	now      func() time.Time
}

// reconcileRun is one reconcile of a MachineHealthCheck.
type reconcileRun struct {
	*reconciler
	// check is the object to write. cluster is nil if it does not exist.
	check   *check
	cluster *cluster
	at      time.Time
}

// Reconcile checks the Machines of a MachineHealthCheck and requests the remediation of unhealthy ones.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.checks.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading MachineHealthCheck %s: %w", key, err)
	}
	if stored == nil || stored.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	p := &reconcileRun{reconciler: r, check: stored.DeepCopy(), at: r.now()}
	if p.cluster, err = controller.IgnoreNotFound(r.clusters.Clusters(key.Namespace).Get(stored.Spec.ClusterName)); err != nil {
		return controller.Result{}, fmt.Errorf("reading Cluster %s: %w", stored.Spec.ClusterName, err)
	}
	paused := members.Paused(p.cluster, p.check, "MachineHealthCheck")
	if paused.Status == metav1.ConditionTrue {
		updateStatus(p.check, paused, nil, 0, allowance{}, p.at)
		if err := p.writeStatus(ctx); err != nil {
			return controller.RequeueOnConflict(err)
		}
		return controller.Result{}, nil
	}
	if err := p.setOwnership(ctx); err != nil {
		return controller.RequeueOnConflict(err)
	}
	until, err := p.checkMachines(ctx, paused)
	if apierrors.IsConflict(err) {
		return controller.RequeueOnConflict(err)
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("MachineHealthCheck %s: %w", key, err)
	}
	again := controller.DefaultResyncPeriod
	if !until.IsZero() {
		again = min(again, max(until.Sub(p.at), time.Millisecond))
	}
	return controller.Result{RequeueAfter: again}, nil
}

// setOwnership sets the cluster label and the Cluster as owner.
func (p *reconcileRun) setOwnership(ctx context.Context) error {
	changed := members.SetClusterLabel(p.check, p.check.Spec.ClusterName)
	if p.cluster != nil {
		changed = members.AddOwner(p.check, p.cluster) || changed
	}
	if !changed {
		return nil
	}
	written, err := p.checks.Update(ctx, p.client.MachineHealthChecks(p.check.Namespace), p.check)
	if err == nil {
		p.check = written.DeepCopy()
	}
	return err
}

// checkMachines checks all Machines, writes the status of the MachineHealthCheck, and then the conditions of the
// Machines. It returns the time at which a result may change.
func (p *reconcileRun) checkMachines(ctx context.Context, paused metav1.Condition) (until time.Time, err error) {
	targets, err := p.targets(ctx)
	if err != nil {
		return until, err
	}
	verdicts, well := make([]checkResult, len(targets)), 0
	for i, t := range targets {
		v := evaluate(p.check, p.cluster, t, p.at)
		if verdicts[i] = v; v.healthy {
			well++
		}
		if !v.until.IsZero() && (until.IsZero() || v.until.Before(until)) {
			until = v.until
		}
	}
	allow, err := computeAllowance(p.check, len(targets), well)
	if err != nil {
		return until, err
	}
	updateStatus(p.check, paused, targets, well, allow, p.at)
	if err := p.writeStatus(ctx); err != nil {
		return until, err
	}
	checks, err := p.checksOfCluster()
	if err != nil {
		return until, err
	}
	var failed []error
	for i, t := range targets {
		failed = append(failed, p.updateMachine(ctx, t.machine, p.combine(checks, t, verdicts[i]), allow.allowed && verdicts[i].isUnhealthy()))
	}
	return until, errors.Join(failed...)
}

// checksOfCluster returns the Cluster's checks that are not paused or being deleted, sorted by name.
func (p *reconcileRun) checksOfCluster() ([]*check, error) {
	all, err := p.checks.ByIndex(byCluster, p.check.Namespace+"/"+p.check.Spec.ClusterName)
	if err != nil {
		return nil, fmt.Errorf("finding MachineHealthChecks: %w", err)
	}
	all = slices.DeleteFunc(all, func(c *check) bool {
		return c.DeletionTimestamp != nil || members.Paused(p.cluster, c, "MachineHealthCheck").Status == metav1.ConditionTrue
	})
	slices.SortFunc(all, func(a, b *check) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// combine returns the combined result of all checks that select a Machine: that of the first check that finds it
// unhealthy. Otherwise the checks would overwrite each other's condition.
func (p *reconcileRun) combine(checks []*check, t target, mine checkResult) checkResult {
	for _, c := range checks {
		v := mine
		if c.Name != p.check.Name {
			if !members.IsSelected(&c.Spec.Selector, c.Spec.ClusterName, t.machine) {
				continue
			}
			v = evaluate(c, p.cluster, t, p.at)
		}
		if v.isUnhealthy() {
			return v
		}
	}
	return mine
}

// targets returns the Machines to check. It excludes Machines that are paused or have the skip-remediation annotation.
func (p *reconcileRun) targets(ctx context.Context) ([]target, error) {
	in := types.NamespacedName{Namespace: p.check.Namespace, Name: p.check.Spec.ClusterName}
	all, err := p.machines.ByIndex(byCluster, in.String())
	if err != nil {
		return nil, fmt.Errorf("finding Machines: %w", err)
	}
	var out []target
	for _, m := range all {
		_, paused := m.Annotations[clusterv1alpha1.PausedAnnotation]
		_, skipped := m.Annotations[clusterv1alpha1.MachineSkipRemediationAnnotation]
		if paused || skipped || !members.IsSelected(&p.check.Spec.Selector, p.check.Spec.ClusterName, m) {
			continue
		}
		out = append(out, p.target(ctx, in, m))
	}
	return out, nil
}

// target returns a Machine with its Node. A registered Node that is not yet in the Machine's nodeRef counts as unknown,
// because the delay is not a fault of the Machine.
func (p *reconcileRun) target(ctx context.Context, in types.NamespacedName, m *machine) target {
	t := target{machine: m, silent: p.nodes.IsSilent(in)}
	if !canHaveNode(p.cluster, m) {
		return t // There is no connection yet.
	}
	var registered bool
	var err error
	if m.Status.NodeRef.IsDefined() {
		t.node, err = p.nodes.Node(in, m.Spec.ProviderID, m.Status.NodeRef.Name)
	} else if registered, err = p.nodes.HasNode(in, m.Spec.ProviderID); err != nil && !isInitialized(p.cluster) {
		err = nil // The Cluster has never had a Node; this Machine may be the reason.
	}
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Cannot read the Node of a Machine", "machine", m.Name, "err", err)
	}
	t.isKnown = err == nil && !registered
	return t
}

func (p *reconcileRun) writeStatus(ctx context.Context) error {
	return p.checks.UpdateStatus(ctx, p.client.MachineHealthChecks(p.check.Namespace), p.check)
}

// updateMachine writes the conditions of a Machine. It requests the remediation of an unhealthy Machine if replace is
// true.
func (p *reconcileRun) updateMachine(ctx context.Context, m *machine, v checkResult, replace bool) error {
	next := withHealthCondition(m, v, p.at)
	failed := error(nil)
	switch {
	case v.isUnhealthy() && replace && p.check.Spec.Remediation.TemplateRef.IsDefined():
		failed = p.createRequest(ctx, next)
	case v.isUnhealthy() && replace && m.DeletionTimestamp == nil:
		requestOwner(next, p.at)
	case v.healthy && conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineExternallyRemediatedCondition) != nil:
		failed = p.deleteRequest(ctx, next)
	}
	if !equality.Semantic.DeepEqual(m, next) {
		if err := p.machines.UpdateStatus(ctx, p.client.Machines(m.Namespace), next); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if previous := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineHealthCheckSucceededCondition); v.isUnhealthy() && (previous == nil || previous.Status != metav1.ConditionFalse) {
			p.recorder.Eventf(next, nil, corev1.EventTypeNormal, "MachineMarkedUnhealthy", "HealthCheck", "%s",
				conditions.Note("Machine %s has been marked as unhealthy by %s: %s", m.Name, p.check.Name, v.message))
		}
	}
	return failed
}
