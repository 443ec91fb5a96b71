// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a time in minutes after begin.
func at(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }

// theCluster returns a Cluster that has been Ready for two minutes and initialized for three.
func theCluster() *cluster {
	in := &cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c"}}
	for kind, since := range map[string]int{clusterv1alpha1.InfrastructureReadyCondition: 2, clusterv1alpha1.ClusterControlPlaneInitializedCondition: 3} {
		conditions.Set(&in.Status.Conditions, at(since), metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Test"})
	}
	return in
}

// theCheck returns a check for Nodes that are not Ready for 5 minutes, or Unknown for 10, and for Machines that are not
// Ready for 20.
func theCheck() *check {
	c := &check{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "mhc", UID: "mhc", Generation: 1, Labels: map[string]string{clusterv1alpha1.ClusterNameLabel: "c"}}}
	c.Spec.ClusterName = "c"
	c.Spec.Selector.MatchLabels = map[string]string{"app": "x"}
	u := func(kind, status string, minutes int32) clusterv1alpha1.UnhealthyCondition {
		return clusterv1alpha1.UnhealthyCondition{Type: kind, Status: metav1.ConditionStatus(status), TimeoutSeconds: ptr.To(minutes * 60)}
	}
	c.Spec.Checks.UnhealthyNodeConditions = []clusterv1alpha1.UnhealthyCondition{u("Ready", "False", 5), u("Ready", "Unknown", 10)}
	c.Spec.Checks.UnhealthyMachineConditions = []clusterv1alpha1.UnhealthyCondition{u("Ready", "False", 20)}
	return c
}

func theMachine(name string, as ...func(*machine)) *machine {
	m := &machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "dev", Name: name, CreationTimestamp: metav1.NewTime(begin), Generation: 1,
		Labels: map[string]string{"app": "x"},
	}}
	m.Spec.ClusterName = "c"
	m.Status.NodeRef.Name = name
	for _, f := range as {
		f(m)
	}
	return m
}

func withCondition(conditionType string, status metav1.ConditionStatus, minutes int) func(*machine) {
	return func(m *machine) {
		conditions.Set(&m.Status.Conditions, at(minutes), metav1.Condition{Type: conditionType, Status: status, Reason: "Why"})
	}
}

// nodeless makes a Machine provisioned and without a Node.
func nodeless(m *machine) {
	m.Status.NodeRef.Name, m.Status.Initialization.InfrastructureProvisioned = "", ptr.To(true)
}

// unprovisioned makes a Machine not provisioned and without a Node.
func unprovisioned(m *machine) { m.Status.NodeRef.Name = "" }

// phaseSince sets when the phase of a Machine has changed, in minutes after begin.
func phaseSince(minutes int) func(*machine) {
	return func(m *machine) { m.Status.LastUpdated = ptr.To(metav1.NewTime(at(minutes))) }
}

func node(name string, ready corev1.ConditionStatus, minutes int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "Kubelet", LastTransitionTime: metav1.NewTime(at(minutes))}}
	return n
}

func TestEvaluate_FindsUnhealthyMachines(t *testing.T) {
	ready := node("m", corev1.ConditionTrue, 4)
	for name, test := range map[string]struct {
		cluster func(*cluster)
		check   func(*check)
		machine *machine
		node    *corev1.Node
		unknown bool
		silent  bool
		now     int
		// want is "well", empty for neither, or the reason and a part of the message.
		want  string
		until int
	}{
		"healthy":                         {machine: theMachine("m"), node: ready, now: 60, want: "well"},
		"being deleted":                   {machine: theMachine("m", func(m *machine) { m.DeletionTimestamp = &metav1.Time{} }), node: ready, now: 60},
		"marked":                          {machine: theMachine("m", func(m *machine) { m.Annotations = map[string]string{clusterv1alpha1.RemediateMachineAnnotation: ""} }), node: ready, now: 60, want: "HasRemediateAnnotation marked for remediation via cluster.x-k8s.io/remediate-machine"},
		"marked in a new cluster":         {cluster: func(in *cluster) { in.Status.Conditions = nil }, machine: theMachine("m", func(m *machine) { m.Annotations = map[string]string{clusterv1alpha1.RemediateMachineAnnotation: ""} }), now: 60, want: "HasRemediateAnnotation marked"},
		"no infrastructure":               {cluster: func(in *cluster) { in.Status.Conditions[0].Status = "False"; in.Status.Conditions[1].Status = "False" }, machine: theMachine("m", nodeless), now: 600},
		"no control plane":                {cluster: uninitialized, machine: theMachine("m", nodeless), now: 600},
		"control plane Machine":           {cluster: uninitialized, machine: theMachine("m", nodeless, func(m *machine) { m.Labels[clusterv1alpha1.MachineControlPlaneLabel] = "" }), now: 600, want: "NodeStartupTimeout Node failed to report startup in 10m0s"},
		"Node not Ready for a short time": {machine: theMachine("m"), node: node("m", corev1.ConditionFalse, 20), now: 24, until: 25},
		"Node not Ready":                  {machine: theMachine("m"), node: node("m", corev1.ConditionFalse, 20), now: 25, want: "UnhealthyNode Condition Ready on Node is reporting status False with reason Kubelet for more than 5m0s"},
		"Node Unknown for a short time":   {machine: theMachine("m"), node: node("m", corev1.ConditionUnknown, 20), now: 29, until: 30},
		"Node Unknown":                    {machine: theMachine("m"), node: node("m", corev1.ConditionUnknown, 20), now: 31, want: "UnhealthyNode Condition Ready on Node is reporting status Unknown"},
		"Node Unknown, silent cluster":    {machine: theMachine("m"), node: node("m", corev1.ConditionUnknown, 20), silent: true, now: 31, until: 32},
		"healthy Node, silent cluster":    {machine: theMachine("m"), node: ready, silent: true, now: 60, want: "well"},
		"Node deleted":                    {machine: theMachine("m"), now: 25, want: "NodeDeleted Node m has been deleted"},
		"Node not known":                  {machine: theMachine("m"), unknown: true, now: 600},
		"Machine not Ready":               {machine: theMachine("m", withCondition("Ready", metav1.ConditionFalse, 30)), node: ready, now: 50, want: "UnhealthyMachine Condition Ready on Machine is reporting status False with reason Why for more than 20m0s"},
		"Machine not Ready, Node unknown": {machine: theMachine("m", withCondition("Ready", metav1.ConditionFalse, 30)), unknown: true, now: 50, want: "UnhealthyMachine Condition Ready on Machine"},
		"Machine and Node not Ready":      {machine: theMachine("m", withCondition("Ready", metav1.ConditionFalse, 30)), node: node("m", corev1.ConditionFalse, 20), now: 50, want: "UnhealthyMachine Condition Ready on Machine is reporting status False with reason Why for more than 20m0s; Condition Ready on Node"},
		"the earlier time counts":         {machine: theMachine("m", withCondition("Ready", metav1.ConditionFalse, 30)), node: node("m", corev1.ConditionFalse, 31), now: 32, until: 36},
		"no Node yet":                     {machine: theMachine("m", nodeless), now: 12, until: 13},
		"no Node":                         {machine: theMachine("m", nodeless), now: 13, want: "NodeStartupTimeout Node failed to report startup in 10m0s"},
		"Node lookup not possible":        {machine: theMachine("m", nodeless), unknown: true, now: 600},
		"no Node since infrastructure":    {machine: theMachine("m", nodeless, withCondition("InfrastructureReady", metav1.ConditionTrue, 50)), now: 55, until: 60},
		"no Node, no infrastructure":      {machine: theMachine("m", nodeless, withCondition("InfrastructureReady", metav1.ConditionFalse, 50)), now: 55, want: "NodeStartupTimeout Node failed"},
		"no infrastructure yet":           {machine: theMachine("m", unprovisioned, withCondition("InfrastructureReady", metav1.ConditionFalse, 1)), now: 600},
		"infrastructure Ready, no Node":   {machine: theMachine("m", unprovisioned, withCondition("InfrastructureReady", metav1.ConditionTrue, 1)), now: 600},
		"no bootstrap data yet":           {machine: theMachine("m", unprovisioned, withCondition("BootstrapConfigReady", metav1.ConditionFalse, 1), phaseSince(1)), now: 600},
		"no Node since provisioning":      {machine: theMachine("m", nodeless, withCondition("InfrastructureReady", metav1.ConditionFalse, 1), phaseSince(50)), now: 55, until: 60},
		"no Node long after provisioning": {machine: theMachine("m", nodeless, withCondition("InfrastructureReady", metav1.ConditionFalse, 1), phaseSince(50)), now: 60, want: "NodeStartupTimeout Node failed"},
		"no Node, with a long timeout":    {check: func(c *check) { c.Spec.Checks.NodeStartupTimeoutSeconds = ptr.To[int32](3600) }, machine: theMachine("m", nodeless), now: 55, until: 63},
		"no Node, without a timeout":      {check: func(c *check) { c.Spec.Checks.NodeStartupTimeoutSeconds = ptr.To[int32](0) }, machine: theMachine("m", nodeless), now: 6000},
	} {
		t.Run(name, func(t *testing.T) {
			in, c := theCluster(), theCheck()
			if test.cluster != nil {
				test.cluster(in)
			}
			if test.check != nil {
				test.check(c)
			}
			v := evaluate(c, in, target{machine: test.machine, node: test.node, isKnown: !test.unknown, silent: test.silent}, at(test.now))
			got := v.reason
			if v.healthy {
				got = "well"
			}
			reason, text, _ := strings.Cut(test.want, " ")
			if got != reason || !strings.Contains(v.message, text) || strings.HasPrefix(v.message, "Health check failed: ") != v.isUnhealthy() {
				t.Errorf("%q %q, want %q", got, v.message, test.want)
			}
			if test.until == 0 && !v.until.IsZero() || test.until > 0 && !v.until.Equal(at(test.until)) {
				t.Errorf("next check at %v, want minute %d", v.until, test.until)
			}
		})
	}
	if v := evaluate(theCheck(), nil, target{machine: theMachine("m", nodeless)}, at(600)); v.isUnhealthy() || v.healthy {
		t.Errorf("without a Cluster: %+v", v)
	}
}

func uninitialized(in *cluster) {
	conditions.Set(&in.Status.Conditions, begin, metav1.Condition{Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionFalse, Reason: "NotInitialized"})
}

func TestComputeAllowance_LimitsRemediation(t *testing.T) {
	atMost := func(v intstr.IntOrString) clusterv1alpha1.MachineHealthCheckRemediationTriggerIf {
		return clusterv1alpha1.MachineHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: &v}
	}
	between := func(text string) clusterv1alpha1.MachineHealthCheckRemediationTriggerIf {
		return clusterv1alpha1.MachineHealthCheckRemediationTriggerIf{UnhealthyInRange: text, UnhealthyLessThanOrEqualTo: ptr.To(intstr.FromInt(0))}
	}
	for name, test := range map[string]struct {
		trigger    clusterv1alpha1.MachineHealthCheckRemediationTriggerIf
		total, bad int
		ok         bool
		more       int32
		message    string
	}{
		"no limit":               {clusterv1alpha1.MachineHealthCheckRemediationTriggerIf{}, 3, 3, true, 0, ""},
		"no Machines":            {clusterv1alpha1.MachineHealthCheckRemediationTriggerIf{}, 0, 0, true, 0, ""},
		"fewer than the limit":   {atMost(intstr.FromInt(2)), 10, 1, true, 1, ""},
		"exactly the limit":      {atMost(intstr.FromInt(2)), 10, 2, true, 0, ""},
		"more than the limit":    {atMost(intstr.FromInt(2)), 10, 3, false, 0, "(total: 10, unhealthy: 3, maxUnhealthy: 2)"},
		"a percentage, rounded":  {atMost(intstr.FromString("40%")), 4, 1, true, 0, ""},
		"more than a percentage": {atMost(intstr.FromString("40%")), 4, 2, false, 0, "exceeds maxUnhealthy"},
		"in range":               {between("[1-3]"), 10, 2, true, 1, ""},
		"below the range":        {between("[1-3]"), 10, 0, false, 0, "does not fall within the range (total: 10, unhealthy: 0, unhealthyRange: [1-3])"},
		"above the range":        {between("[1-3]"), 10, 4, false, 0, "does not fall within the range"},
	} {
		t.Run(name, func(t *testing.T) {
			c := theCheck()
			c.Spec.Remediation.TriggerIf = test.trigger
			got, err := computeAllowance(c, test.total, test.total-test.bad)
			if err != nil {
				t.Fatal(err)
			}
			if got.allowed != test.ok || got.remaining != test.more || !strings.Contains(got.message, test.message) || (got.message == "") != test.ok {
				t.Errorf("%+v, want %t, %d more and %q", got, test.ok, test.more, test.message)
			}
		})
	}
	for _, bad := range []string{"3-5", "[5-3]", "[a-b]", "[3]", "[-3-5]", "[", "[99999999999-99999999999]"} {
		c := theCheck()
		c.Spec.Remediation.TriggerIf.UnhealthyInRange = bad
		if _, err := computeAllowance(c, 1, 1); err == nil {
			t.Errorf("%q is a range", bad)
		}
	}
}
