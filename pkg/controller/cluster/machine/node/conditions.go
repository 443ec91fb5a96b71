// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// DefaultGrace is how long conditions are kept that were seen before the workload cluster was
// silent, as in Cluster API.
const DefaultGrace = 5 * time.Minute

// enough failures in a row, without a success ever, are no slow start any more.
const enough = 5

// Facts are what is known of the Node of a Machine.
type Facts struct {
	Machine *clusterv1alpha1.Machine
	// Cluster is nil when there is none.
	Cluster *clusterv1alpha1.Cluster
	// Node is nil when the workload cluster has none, or when it is not known which one of Nodes it is.
	Node *corev1.Node
	// Nodes are all that have the provider ID of the Machine.
	Nodes []*corev1.Node
	// Err is why it could not be looked for, and NotConnected true when that is because there
	// is no connection.
	Err          error
	NotConnected bool
	// Success is when the workload cluster has answered last, zero if never, and Failures how
	// often it has not since.
	Success  time.Time
	Failures int
	// Grace is how long it may be silent.
	Grace time.Duration
	Now   time.Time
}

// Conditions are NodeReady and NodeHealthy of the Machine. None are returned where those
// that it has stay as they are; both are, or none. After is when they are to be made anew though nothing
// happens, 0 if not.
func Conditions(f Facts) (all []metav1.Condition, after time.Duration) {
	if f.Cluster == nil || f.Cluster.Status.Initialization.InfrastructureProvisioned == nil || !*f.Cluster.Status.Initialization.InfrastructureProvisioned {
		return both(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"), 0
	}
	initialized := conditions.Find(f.Cluster.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition)
	if initialized == nil || initialized.Status != metav1.ConditionTrue {
		return both(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, "Waiting for Cluster control plane to be initialized"), 0
	}
	if f.Success.IsZero() && f.Failures < enough {
		return f.unlessKnown("Remote connection not established yet"), 0
	}
	from := f.Success
	if initialized.LastTransitionTime.After(from) {
		from = initialized.LastTransitionTime.Time
	}
	left := from.Add(f.Grace).Sub(f.Now)
	switch {
	case left < 0:
		return both(metav1.ConditionUnknown, clusterv1alpha1.ConnectionDownReason, lastProbe(f.Success)), 0
	case f.NotConnected:
		// One more than left: at the end of the period it is not over.
		return f.unlessKnown(lastProbe(f.Success)), left + time.Second
	case f.Err != nil:
		return both(metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, "the Node could not be looked up: "+f.Err.Error()), 0
	}
	if f.Failures > 0 {
		after = left + time.Second
	}
	if f.Node == nil && len(f.Nodes) > 1 {
		return both(metav1.ConditionUnknown, clusterv1alpha1.NodeAmbiguousReason, twins(f.Machine, nil, f.Nodes)), after
	}
	if f.Node == nil {
		return f.withoutNode(), after
	}
	all = []metav1.Condition{ready(f.Node), healthy(f.Node)}
	if len(f.Nodes) > 1 {
		all[1].Message = strings.TrimPrefix(all[1].Message+"\n* "+twins(f.Machine, f.Node, f.Nodes), "\n")
	}
	return all, after
}

// unlessKnown keeps the conditions that are there.
func (f *Facts) unlessKnown(message string) []metav1.Condition {
	was := f.Machine.Status.Conditions
	if conditions.Find(was, clusterv1alpha1.MachineNodeReadyCondition) != nil && conditions.Find(was, clusterv1alpha1.MachineNodeHealthyCondition) != nil {
		return nil
	}
	return both(metav1.ConditionUnknown, clusterv1alpha1.ConnectionDownReason, message)
}

// withoutNode are the conditions of a Machine whose Node is not there.
func (f *Facts) withoutNode() []metav1.Condition {
	m := f.Machine
	name := m.Status.NodeRef.Name
	switch {
	case m.DeletionTimestamp != nil && name != "":
		return both(metav1.ConditionFalse, clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted", name))
	case m.DeletionTimestamp != nil:
		return both(metav1.ConditionUnknown, clusterv1alpha1.NodeDoesNotExistReason, "Node does not exist")
	case name != "":
		// False, so that it weighs more than what is only not known.
		return both(metav1.ConditionFalse, clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted while the Machine still exists", name))
	case m.Spec.ProviderID != "":
		return both(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, fmt.Sprintf("Waiting for a Node with spec.providerID %s to exist", m.Spec.ProviderID))
	}
	return both(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, fmt.Sprintf("Waiting for %s to report spec.providerID", m.Spec.InfrastructureRef.Kind))
}

func both(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	var all []metav1.Condition
	for _, kind := range []string{clusterv1alpha1.MachineNodeReadyCondition, clusterv1alpha1.MachineNodeHealthyCondition} {
		all = append(all, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	return all
}

func lastProbe(success time.Time) string {
	if success.IsZero() {
		return ""
	}
	return "Last successful probe at " + success.UTC().Format(time.RFC3339)
}
