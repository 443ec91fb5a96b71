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

// DefaultGrace is how long the last conditions are kept when the workload cluster does not answer, as in Cluster API.
const DefaultGrace = 5 * time.Minute

// maxFailures is the number of failures after which a cluster that has never answered counts as not connected.
const maxFailures = 5

// State is the state from which the node conditions of a Machine are computed.
type State struct {
	Machine *clusterv1alpha1.Machine
	// Cluster is nil if it does not exist.
	Cluster *clusterv1alpha1.Cluster
	// Node is nil if it does not exist, or if it is not known which of Nodes it is.
	Node *corev1.Node
	// Nodes are all Nodes with the provider ID of the Machine.
	Nodes []*corev1.Node
	// Err is the error of the lookup. NotConnected is true if there is no connection.
	Err          error
	NotConnected bool
	// Success is the time of the last successful probe, or zero. Failures is the number of failures since then.
	Success  time.Time
	Failures int
	// Grace is how long the workload cluster may not answer.
	Grace time.Duration
	Now   time.Time
}

// Conditions returns the conditions NodeReady and NodeHealthy of the Machine. It returns none if the current conditions
// must stay unchanged. after is the time until they must be computed again without an event, or 0.
func Conditions(f State) (all []metav1.Condition, after time.Duration) {
	if f.Cluster == nil || f.Cluster.Status.Initialization.InfrastructureProvisioned == nil || !*f.Cluster.Status.Initialization.InfrastructureProvisioned {
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"), 0
	}
	initialized := conditions.Find(f.Cluster.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition)
	if initialized == nil || initialized.Status != metav1.ConditionTrue {
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, "Waiting for Cluster control plane to be initialized"), 0
	}
	if f.Success.IsZero() && f.Failures < maxFailures {
		return f.keepOrUnknown("Remote connection not established yet"), 0
	}
	from := f.Success
	if initialized.LastTransitionTime.After(from) {
		from = initialized.LastTransitionTime.Time
	}
	left := from.Add(f.Grace).Sub(f.Now)
	switch {
	case left < 0:
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.ConnectionDownReason, lastProbe(f.Success)), 0
	case f.NotConnected:
		// One second more, because the period has not passed at exactly this time.
		return f.keepOrUnknown(lastProbe(f.Success)), left + time.Second
	case f.Err != nil:
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, "cannot look up the Node: "+f.Err.Error()), 0
	}
	if f.Failures > 0 {
		after = left + time.Second
	}
	if f.Node == nil && len(f.Nodes) > 1 {
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.NodeAmbiguousReason, duplicatesMessage(f.Machine, nil, f.Nodes)), after
	}
	if f.Node == nil {
		return f.missingNodeConditions(), after
	}
	all = []metav1.Condition{readyCondition(f.Node), healthyCondition(f.Node)}
	if len(f.Nodes) > 1 {
		all[1].Message = strings.TrimPrefix(all[1].Message+"\n* "+duplicatesMessage(f.Machine, f.Node, f.Nodes), "\n")
	}
	return all, after
}

// keepOrUnknown returns no conditions if the Machine already has both.
func (f *State) keepOrUnknown(message string) []metav1.Condition {
	current := f.Machine.Status.Conditions
	if conditions.Find(current, clusterv1alpha1.MachineNodeReadyCondition) != nil && conditions.Find(current, clusterv1alpha1.MachineNodeHealthyCondition) != nil {
		return nil
	}
	return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.ConnectionDownReason, message)
}

// missingNodeConditions returns the conditions of a Machine whose Node does not exist.
func (f *State) missingNodeConditions() []metav1.Condition {
	m := f.Machine
	name := m.Status.NodeRef.Name
	switch {
	case m.DeletionTimestamp != nil && name != "":
		return bothConditions(metav1.ConditionFalse, clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted", name))
	case m.DeletionTimestamp != nil:
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.NodeDoesNotExistReason, "Node does not exist")
	case name != "":
		// False outweighs an unknown state in summaries.
		return bothConditions(metav1.ConditionFalse, clusterv1alpha1.NodeDeletedReason, fmt.Sprintf("Node %s has been deleted while the Machine still exists", name))
	case m.Spec.ProviderID != "":
		return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, fmt.Sprintf("Waiting for a Node with spec.providerID %s to exist", m.Spec.ProviderID))
	}
	return bothConditions(metav1.ConditionUnknown, clusterv1alpha1.InspectionFailedReason, fmt.Sprintf("Waiting for %s to report spec.providerID", m.Spec.InfrastructureRef.Kind))
}

func bothConditions(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
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
