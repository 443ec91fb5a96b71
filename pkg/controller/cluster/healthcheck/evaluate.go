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
	node  *corev1.Node
	known bool
	// silent is true while the Cluster does not answer. node is then the last known state.
	silent bool
}

// verdict is the result of a check: healthy, unhealthy, or neither.
type verdict struct {
	well bool
	// reason and message explain why the Machine is unhealthy.
	reason, message string
	// until is the time at which the result may change without an event, or zero.
	until time.Time
}

func (v *verdict) unwell() bool { return v.reason != "" }

// judge computes the result for a target.
func judge(c *check, in *cluster, t target, now time.Time) verdict {
	m := t.machine
	if _, ok := m.Annotations[clusterv1alpha1.RemediateMachineAnnotation]; ok {
		return verdict{
			reason:  clusterv1alpha1.HasRemediateAnnotationReason,
			message: "Health check failed: marked for remediation via " + clusterv1alpha1.RemediateMachineAnnotation + " annotation",
		}
	}
	if !begun(in, m) {
		return verdict{} // The Cluster is the cause, not the Machine.
	}
	w := &watch{now: now}
	w.machine(c, m)
	if len(w.problems) > 0 {
		w.reason = clusterv1alpha1.UnhealthyMachineReason
	}
	w.node(c, in, t)
	switch {
	case len(w.problems) > 0:
		return verdict{reason: w.reason, message: "Health check failed: " + strings.Join(w.problems, "; ")}
	case !w.until.IsZero():
		return verdict{until: w.until}
	}
	return verdict{well: t.known && t.node != nil && m.DeletionTimestamp == nil}
}

// begun reports whether the Cluster is ready enough for m to have a Node.
func begun(in *cluster, m *machine) bool {
	_, controlPlane := m.Labels[clusterv1alpha1.MachineControlPlaneLabel]
	return in != nil && conditions.IsTrue(in.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition) && (controlPlane || initialized(in))
}

// initialized reports whether the control plane of a Cluster is initialized.
func initialized(in *cluster) bool {
	return in != nil && conditions.IsTrue(in.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition)
}

// watch collects the problems of a target, and the time of its next check.
type watch struct {
	now      time.Time
	problems []string
	reason   string
	until    time.Time
}

// lasts reports whether a state that began at since has lasted for allowed. If not, it schedules the next check.
func (w *watch) lasts(since time.Time, allowed time.Duration) bool {
	due := since.Add(allowed)
	if !w.now.Before(due) {
		return true
	}
	w.again(due)
	return false
}

// again schedules the next check at due, unless an earlier one is scheduled.
func (w *watch) again(due time.Time) {
	if w.until.IsZero() || due.Before(w.until) {
		w.until = due
	}
}

func (w *watch) machine(c *check, m *machine) {
	for _, u := range c.Spec.Checks.UnhealthyMachineConditions {
		is := conditions.Find(m.Status.Conditions, u.Type)
		if is != nil && is.Status == u.Status && w.lasts(is.LastTransitionTime.Time, timeout(u)) {
			w.problems = append(w.problems, problem("Machine", u, is.Reason))
		}
	}
}

func timeout(u clusterv1alpha1.UnhealthyCondition) time.Duration {
	return time.Duration(ptr.Deref(u.TimeoutSeconds, 0)) * time.Second
}

func problem(of string, u clusterv1alpha1.UnhealthyCondition, reason string) string {
	return fmt.Sprintf("Condition %s on %s is reporting status %s with reason %s for more than %s", u.Type, of, u.Status, reason, timeout(u))
}

func (w *watch) node(c *check, in *cluster, t target) {
	name := t.machine.Status.NodeRef.Name
	switch {
	case !t.known:
	case name == "":
		w.startup(c, in, t.machine)
	case t.node == nil:
		w.because(clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted", name))
	default:
		for _, u := range c.Spec.Checks.UnhealthyNodeConditions {
			is := nodeCondition(t.node, u.Type)
			switch {
			case is == nil || metav1.ConditionStatus(is.Status) != u.Status || !w.lasts(is.LastTransitionTime.Time, timeout(u)):
			case t.silent:
				w.again(w.now.Add(silence)) // The current state is unknown.
			default:
				w.because(clusterv1alpha1.UnhealthyNodeReason, problem("Node", u, is.Reason))
			}
		}
	}
}

// silence is the interval of checks while a Cluster does not answer.
const silence = time.Minute

// startup checks the Node startup timeout. The time starts when the infrastructure is provisioned, or when a later
// prerequisite is met. A slow image copy therefore does not make a Machine unhealthy.
func (w *watch) startup(c *check, in *cluster, m *machine) {
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
	for _, is := range []*metav1.Condition{
		conditions.Find(in.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition),
		conditions.Find(in.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition),
		conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition),
	} {
		if is != nil && is.Status == metav1.ConditionTrue {
			later(is.LastTransitionTime.Time)
		}
	}
	if infra := conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition); infra == nil || infra.Status != metav1.ConditionTrue {
		// Provisioned infrastructure may be not Ready. The phase of a Machine without a Node has last changed when the
		// infrastructure was provisioned, or later.
		later(ptr.Deref(m.Status.LastUpdated, metav1.Time{}).Time)
	}
	if w.lasts(since, allowed) {
		w.because(clusterv1alpha1.NodeStartupTimeoutReason, fmt.Sprintf("Node failed to report startup in %s", allowed))
	}
}

// because adds a problem. It keeps the first reason.
func (w *watch) because(reason, text string) {
	if w.problems = append(w.problems, text); w.reason == "" {
		w.reason = reason
	}
}

func nodeCondition(node *corev1.Node, kind string) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if string(node.Status.Conditions[i].Type) == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
