// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

type (
	check   = clusterv1alpha1.MachineHealthCheck
	cluster = clusterv1alpha1.Cluster
	machine = clusterv1alpha1.Machine
)

// target is a Machine that is checked.
type target struct {
	machine *machine
	// node is the Machine's Node, or nil if it does not exist. It is valid only if known is true. It is not known while
	// the Cluster is not connected.
	node    *corev1.Node
	isKnown bool
	// silent is true while the Cluster does not answer. node is then the last known state.
	silent bool
}

// checkResult is the result of a check: healthy, unhealthy, or neither.
type checkResult struct {
	healthy bool
	// reason and message explain why the Machine is unhealthy.
	reason, message string
	// until is the time at which the result may change without an event, or zero.
	until time.Time
}

func (v *checkResult) isUnhealthy() bool { return v.reason != "" }

// evaluate computes the result for a target.
func evaluate(c *check, in *cluster, t target, now time.Time) checkResult {
	m := t.machine
	if _, ok := m.Annotations[clusterv1alpha1.RemediateMachineAnnotation]; ok {
		return checkResult{
			reason:  clusterv1alpha1.HasRemediateAnnotationReason,
			message: "Health check failed: marked for remediation via " + clusterv1alpha1.RemediateMachineAnnotation + " annotation",
		}
	}
	if !canHaveNode(in, m) {
		return checkResult{} // The Cluster is the cause, not the Machine.
	}
	w := &evaluation{now: now}
	w.checkMachine(c, m)
	if len(w.problems) > 0 {
		w.reason = clusterv1alpha1.UnhealthyMachineReason
	}
	w.checkNode(c, in, t)
	switch {
	case len(w.problems) > 0:
		return checkResult{reason: w.reason, message: "Health check failed: " + strings.Join(w.problems, "; ")}
	case !w.until.IsZero():
		return checkResult{until: w.until}
	}
	return checkResult{healthy: t.isKnown && t.node != nil && m.DeletionTimestamp == nil}
}

// canHaveNode reports whether the Cluster is ready enough for m to have a Node.
func canHaveNode(in *cluster, m *machine) bool {
	_, controlPlane := m.Labels[clusterv1alpha1.MachineControlPlaneLabel]
	return in != nil && conditions.IsTrue(in.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition) && (controlPlane || isInitialized(in))
}

// isInitialized reports whether the control plane of a Cluster is initialized.
func isInitialized(in *cluster) bool {
	return in != nil && conditions.IsTrue(in.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition)
}

// evaluation collects the problems of a target, and the time of its next check.
type evaluation struct {
	now      time.Time
	problems []string
	reason   string
	until    time.Time
}

// hasLasted reports whether a state that began at since has lasted for allowed. If not, it schedules the next check.
func (w *evaluation) hasLasted(since time.Time, allowed time.Duration) bool {
	due := since.Add(allowed)
	if !w.now.Before(due) {
		return true
	}
	w.recheckAt(due)
	return false
}

// recheckAt schedules the next check at due, unless an earlier one is scheduled.
func (w *evaluation) recheckAt(due time.Time) {
	if w.until.IsZero() || due.Before(w.until) {
		w.until = due
	}
}

func (w *evaluation) checkMachine(c *check, m *machine) {
	for _, u := range c.Spec.Checks.UnhealthyMachineConditions {
		condition := conditions.Find(m.Status.Conditions, u.Type)
		if condition != nil && condition.Status == u.Status && w.hasLasted(condition.LastTransitionTime.Time, timeout(u)) {
			w.problems = append(w.problems, problem("Machine", u, condition.Reason))
		}
	}
}

func timeout(u clusterv1alpha1.UnhealthyCondition) time.Duration {
	return time.Duration(ptr.Deref(u.TimeoutSeconds, 0)) * time.Second
}

func problem(of string, u clusterv1alpha1.UnhealthyCondition, reason string) string {
	return fmt.Sprintf("Condition %s on %s is reporting status %s with reason %s for more than %s", u.Type, of, u.Status, reason, timeout(u))
}

func (w *evaluation) checkNode(c *check, in *cluster, t target) {
	name := t.machine.Status.NodeRef.Name
	switch {
	case !t.isKnown:
	case name == "":
		w.checkStartup(c, in, t.machine)
	case t.node == nil:
		w.addProblem(clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted", name))
	default:
		for _, u := range c.Spec.Checks.UnhealthyNodeConditions {
			condition := nodeCondition(t.node, u.Type)
			switch {
			case condition == nil || metav1.ConditionStatus(condition.Status) != u.Status || !w.hasLasted(condition.LastTransitionTime.Time, timeout(u)):
			case t.silent:
				w.recheckAt(w.now.Add(silentInterval)) // The current state is unknown.
			default:
				w.addProblem(clusterv1alpha1.UnhealthyNodeReason, problem("Node", u, condition.Reason))
			}
		}
	}
}

// silentInterval is the interval of checks while a Cluster does not answer.
const silentInterval = time.Minute

// checkStartup checks the Node startup timeout. The time starts when the infrastructure is provisioned, or when a later
// prerequisite is met. A slow image copy therefore does not make a Machine unhealthy.
func (w *evaluation) checkStartup(c *check, in *cluster, m *machine) {
	allowed := time.Duration(ptr.Deref(c.Spec.Checks.NodeStartupTimeoutSeconds, clusterv1alpha1.DefaultNodeStartupTimeoutSeconds)) * time.Second
	if allowed == 0 || !ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false) {
		return
	}
	since := m.CreationTimestamp.Time
	later := func(at time.Time) {
		if at.After(since) {
			since = at
		}
	}
	for _, condition := range []*metav1.Condition{
		conditions.Find(in.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition),
		conditions.Find(in.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition),
		conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition),
	} {
		if condition != nil && condition.Status == metav1.ConditionTrue {
			later(condition.LastTransitionTime.Time)
		}
	}
	if infra := conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition); infra == nil || infra.Status != metav1.ConditionTrue {
		// Provisioned infrastructure may be not Ready. The phase of a Machine without a Node has last changed when the
		// infrastructure was provisioned, or later.
		later(ptr.Deref(m.Status.LastUpdated, metav1.Time{}).Time)
	}
	if w.hasLasted(since, allowed) {
		w.addProblem(clusterv1alpha1.NodeStartupTimeoutReason, fmt.Sprintf("Node failed to report startup in %s", allowed))
	}
}

// addProblem adds a problem. It keeps the first reason.
func (w *evaluation) addProblem(reason, text string) {
	if w.problems = append(w.problems, text); w.reason == "" {
		w.reason = reason
	}
}

func nodeCondition(node *corev1.Node, conditionType string) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if string(node.Status.Conditions[i].Type) == conditionType {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
