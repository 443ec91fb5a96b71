// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

var (
	now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago = metav1.NewTime(now.Add(-time.Hour))
)

// nodeOf returns a Node with the statuses of Ready, MemoryPressure, DiskPressure and PIDPressure: T, F, U, or - for a
// missing condition.
func nodeOf(statuses string, messages ...string) *corev1.Node {
	node := &corev1.Node{}
	words := map[byte]corev1.ConditionStatus{'T': "True", 'F': "False", 'U': "Unknown"}
	for i := range statuses {
		if statuses[i] == '-' {
			continue
		}
		c := corev1.NodeCondition{Type: healthConditions[i].kind, Status: words[statuses[i]], LastTransitionTime: ago}
		if i < len(messages) {
			c.Message = messages[i]
		}
		node.Status.Conditions = append(node.Status.Conditions, c)
	}
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "Other", Status: "True"})
	return node
}

func TestHealthyCondition_SummarizesConditionsOfANode(t *testing.T) { // Behaviors MB87, MC4 of test/behaviours.
	type is struct {
		status  metav1.ConditionStatus
		message string
	}
	for name, test := range map[string]struct {
		node   *corev1.Node
		want   is
		reason string
	}{
		"healthy": {nodeOf("TFFF"), is{"True", ""}, "NodeHealthy"},
		"all unknown": {
			nodeOf("UUUU"), is{"Unknown", "* Node.AllConditions: Condition is Unknown"}, "NodeHealthyUnknown",
		},
		"several bad": {
			nodeOf("FTFF", "kubelet is down", "full"), is{"False", "* Node.Ready: kubelet is down\n* Node.MemoryPressure: full"}, "NodeNotHealthy",
		},
		"several bad for one reason": {
			nodeOf("FTFF", "x", "x"), is{"False", "* Node.AllConditions: x"}, "NodeNotHealthy",
		},
		"one bad": {
			nodeOf("TFTF"), is{"False", "* Node.DiskPressure: Condition is True"}, "NodeNotHealthy",
		},
		"one unknown": {
			nodeOf("TFFU"), is{"Unknown", "* Node.PIDPressure: Condition is Unknown"}, "NodeHealthyUnknown",
		},
		"one good, the rest unknown": {
			nodeOf("TUUU", "", "m", "m", "m"), is{"Unknown", "* Node.AllConditions: m"}, "NodeHealthyUnknown",
		},
		"one missing": {
			nodeOf("TF-F"), is{"Unknown", "* Node.DiskPressure: Condition not yet reported"}, "NodeHealthyUnknown",
		},
		"one missing among equal ones": {
			nodeOf("UU-F", "x", "x"), is{"Unknown", "* Node.Ready: x\n* Node.MemoryPressure: x\n* Node.DiskPressure: Condition not yet reported"},
			"NodeHealthyUnknown",
		},
		"none": {
			nodeOf("----"), is{"Unknown", "* Node.Ready: Condition not yet reported\n* Node.MemoryPressure: Condition not yet reported\n" +
				"* Node.DiskPressure: Condition not yet reported\n* Node.PIDPressure: Condition not yet reported"}, "NodeHealthyUnknown",
		},
	} {
		got := healthyCondition(test.node)
		if (is{got.Status, got.Message}) != test.want || got.Reason != test.reason {
			t.Errorf("%s: NodeHealthy is %s %s %q, want %s %s %q", name, got.Status, got.Reason, got.Message, test.want.status, test.reason, test.want.message)
		}
	}
}

// facts returns the state of a Machine with a healthy Node, with changes.
func facts(change ...func(*State)) State {
	f := State{
		Machine: &clusterv1alpha1.Machine{Spec: clusterv1alpha1.MachineSpec{
			ProviderID: "id", InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{Kind: "VirtualMachine"},
		}},
		Cluster: &clusterv1alpha1.Cluster{Status: clusterv1alpha1.ClusterStatus{
			Initialization: clusterv1alpha1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)},
			Conditions:     []metav1.Condition{{Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, LastTransitionTime: ago}},
		}},
		Node: nodeOf("TFFF"), Success: now.Add(-time.Second), Grace: DefaultGrace, Now: now,
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

// known adds the conditions of a known Node.
func known(f *State) {
	f.Machine.Status.Conditions = []metav1.Condition{{Type: "NodeReady", Status: "True"}, {Type: "NodeHealthy", Status: "True"}}
}
func deleting(f *State) { f.Machine.DeletionTimestamp = &ago }
func without(f *State)  { f.Node = nil }
func named(f *State)    { f.Machine.Status.NodeRef.Name = "n1" }
func down(f *State) {
	f.NotConnected, f.Err, f.Failures, f.Node = true, errors.New("down"), 1, nil
}
func silent(d time.Duration) func(*State) { return func(f *State) { f.Success = now.Add(-d) } }
func never(failures int) func(*State) {
	return func(f *State) { f.Success, f.Failures = time.Time{}, failures }
}

func TestConditions_DescribeTheNode(t *testing.T) { // Behaviors MB88-95, MC3 of test/behaviours.
	for name, test := range map[string]struct {
		facts State
		want  []metav1.Condition
		after time.Duration
	}{
		"no Cluster": {
			facts(func(f *State) { f.Cluster = nil }),
			bothConditions("Unknown", "InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"), 0,
		},
		"infrastructure not provisioned": {
			facts(func(f *State) { f.Cluster.Status.Initialization.InfrastructureProvisioned = nil }),
			bothConditions("Unknown", "InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"), 0,
		},
		"control plane not initialized": {
			facts(func(f *State) { f.Cluster.Status.Conditions[0].Status = "False" }),
			bothConditions("Unknown", "InspectionFailed", "Waiting for Cluster control plane to be initialized"), 0,
		},
		"a healthy Node": {facts(), []metav1.Condition{
			{Type: "NodeReady", Status: "True", Reason: "NodeReady", LastTransitionTime: ago},
			{Type: "NodeHealthy", Status: "True", Reason: "NodeHealthy"},
		}, 0},
		"a Node that is not Ready": {facts(func(f *State) { f.Node = nodeOf("FFFF", "no network") }), []metav1.Condition{
			{Type: "NodeReady", Status: "False", Reason: "NodeNotReady", Message: "* Node.Ready: no network", LastTransitionTime: ago},
			{Type: "NodeHealthy", Status: "False", Reason: "NodeNotHealthy", Message: "* Node.Ready: no network"},
		}, 0},
		"a Node that is Unknown": {facts(func(f *State) { f.Node = nodeOf("UFFF", "stopped posting") }), []metav1.Condition{
			{Type: "NodeReady", Status: "Unknown", Reason: "NodeReadyUnknown", Message: "* Node.Ready: stopped posting", LastTransitionTime: ago},
			{Type: "NodeHealthy", Status: "Unknown", Reason: "NodeHealthyUnknown", Message: "* Node.Ready: stopped posting"},
		}, 0},
		"a Node without Ready": {facts(func(f *State) { f.Node = nodeOf("-FFF") }), []metav1.Condition{
			{Type: "NodeReady", Status: "Unknown", Reason: "NodeReadyUnknown", Message: "* Node.Ready: Condition not yet reported"},
			{Type: "NodeHealthy", Status: "Unknown", Reason: "NodeHealthyUnknown", Message: "* Node.Ready: Condition not yet reported"},
		}, 0},
		"deleted with the Machine":      {facts(without, deleting, named), bothConditions("False", "NodeDeleted", "Node n1 has been deleted"), 0},
		"never existed and deleting":    {facts(without, deleting), bothConditions("Unknown", "NodeDoesNotExist", "Node does not exist"), 0},
		"deleted":                       {facts(without, named), bothConditions("False", "NodeDeleted", "Node n1 has been deleted while the Machine still exists"), 0},
		"not registered yet":            {facts(without), bothConditions("Unknown", "InspectionFailed", "Waiting for a Node with spec.providerID id to exist"), 0},
		"no provider ID yet":            {facts(without, func(f *State) { f.Machine.Spec.ProviderID = "" }), bothConditions("Unknown", "InspectionFailed", "Waiting for VirtualMachine to report spec.providerID"), 0},
		"not probed yet: kept":          {facts(down, never(4), known), nil, 0},
		"not probed yet: set":           {facts(down, never(4)), bothConditions("Unknown", "ConnectionDown", "Remote connection not established yet"), 0},
		"never answered":                {facts(down, never(5), known), bothConditions("Unknown", "ConnectionDown", ""), 0},
		"never answered, within grace":  {facts(down, never(5), known, func(f *State) { f.Cluster.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now) }), nil, DefaultGrace + time.Second},
		"down within grace: kept":       {facts(down, silent(time.Minute), known), nil, 4*time.Minute + time.Second},
		"down within grace: set":        {facts(down, silent(time.Minute)), bothConditions("Unknown", "ConnectionDown", "Last successful probe at 2026-05-01T11:59:00Z"), 4*time.Minute + time.Second},
		"down at the end of grace":      {facts(down, silent(DefaultGrace), known), nil, time.Second},
		"down after grace: overwritten": {facts(down, silent(DefaultGrace+1), known), bothConditions("Unknown", "ConnectionDown", "Last successful probe at 2026-05-01T11:54:59Z"), 0},
		"silent but connected after grace": {
			facts(silent(6*time.Minute), known, func(f *State) { f.Failures = 4 }), bothConditions("Unknown", "ConnectionDown", "Last successful probe at 2026-05-01T11:54:00Z"), 0,
		},
		"silent but connected: last known state": {
			facts(silent(time.Minute), func(f *State) { f.Failures = 1 }), []metav1.Condition{readyCondition(nodeOf("TFFF")), healthyCondition(nodeOf("TFFF"))}, 4*time.Minute + time.Second,
		},
		"another error": {
			facts(known, func(f *State) { f.Err = errors.New("two Nodes") }), bothConditions("Unknown", "InternalError", "cannot look up the Node: two Nodes"), 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, after := Conditions(test.facts)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if after != test.after {
				t.Errorf("after %s, want %s", after, test.after)
			}
		})
	}
}
