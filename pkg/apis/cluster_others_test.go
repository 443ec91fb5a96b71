// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
)

func TestValidateCluster(t *testing.T) {
	ref := clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "vm.slipway.dev", Kind: "SlipwayCluster", Name: "shop"}
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		want   []string
	}{
		"existing infrastructure": {func(*clusterv1alpha1.Cluster) {}, nil},
		"valid": {func(c *clusterv1alpha1.Cluster) {
			c.Spec = clusterv1alpha1.ClusterSpec{InfrastructureRef: ref, ControlPlaneEndpoint: clusterv1alpha1.APIEndpoint{Host: "fd00::1", Port: 6443}}
			c.Spec.ClusterNetwork.APIServerPort, c.Spec.ClusterNetwork.ServiceDomain = 6443, "cluster.local"
			c.Spec.ClusterNetwork.Pods.CIDRBlocks, c.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"10.0.0.0/8", "fd00::/64"}, []string{"172.16.0.0/16"}
		}, nil},
		"a name that is not a label value":      {func(c *clusterv1alpha1.Cluster) { c.Name = strings.Repeat("a", 64) }, []string{"Invalid metadata.name"}},
		"an incomplete reference":               {func(c *clusterv1alpha1.Cluster) { c.Spec.InfrastructureRef.Name = "shop" }, []string{"Required spec.infrastructureRef.kind", "Required spec.infrastructureRef.apiGroup"}},
		"an incomplete control plane reference": {func(c *clusterv1alpha1.Cluster) { c.Spec.ControlPlaneRef.Kind = "A" }, []string{"Required spec.controlPlaneRef.name", "Required spec.controlPlaneRef.apiGroup"}},
		"an invalid endpoint": {func(c *clusterv1alpha1.Cluster) {
			c.Spec.ControlPlaneEndpoint = clusterv1alpha1.APIEndpoint{Host: "https://a", Port: 65536}
		}, []string{"Invalid spec.controlPlaneEndpoint.port", "Invalid spec.controlPlaneEndpoint.host"}},
		"an invalid network": {func(c *clusterv1alpha1.Cluster) {
			c.Spec.ClusterNetwork.APIServerPort, c.Spec.ClusterNetwork.ServiceDomain = -1, "a b"
			c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.0.0.1", strings.Repeat("1", 44)}
		}, []string{"Invalid spec.clusterNetwork.apiServerPort", "Invalid spec.clusterNetwork.pods.cidrBlocks[0]", "TooLong spec.clusterNetwork.pods.cidrBlocks[1]", "Invalid spec.clusterNetwork.serviceDomain"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "n"}}
			test.change(c)
			if diff := cmp.Diff(test.want, problems(validation.ValidateCluster(c))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	old := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "n", ResourceVersion: "1"}}
	old.Spec.InfrastructureRef, old.Spec.ControlPlaneRef = ref, ref
	bare := old.DeepCopy()
	bare.Spec = clusterv1alpha1.ClusterSpec{}
	if diff := cmp.Diff([]string{"Forbidden spec.infrastructureRef", "Forbidden spec.controlPlaneRef"}, problems(validation.ValidateClusterUpdate(bare, old))); diff != "" {
		t.Errorf("errors for removed references (-want +got):\n%s", diff)
	}
	updated := old.DeepCopy()
	updated.Status.Phase, updated.Status.FailureDomains = "Failed", []clusterv1alpha1.FailureDomain{{Name: strings.Repeat("a", 257)}}
	if diff := cmp.Diff([]string{"NotSupported status.phase", "TooLong status.failureDomains[0].name"}, problems(validation.ValidateClusterStatusUpdate(updated, old))); diff != "" {
		t.Errorf("errors of an invalid status (-want +got):\n%s", diff)
	}
	updated.Status = clusterv1alpha1.ClusterStatus{FailureDomains: make([]clusterv1alpha1.FailureDomain, 101)}
	if diff := cmp.Diff([]string{"TooMany status.failureDomains"}, problems(validation.ValidateClusterStatusUpdate(updated, old))); diff != "" {
		t.Errorf("errors of a long status (-want +got):\n%s", diff)
	}
}

func TestValidateMachineDrainRule(t *testing.T) {
	odd := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	apps := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	for name, test := range map[string]struct {
		spec clusterv1alpha1.MachineDrainRuleSpec
		want []string
	}{
		"drain, in order":     {clusterv1alpha1.MachineDrainRuleSpec{Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Drain", Order: ptr.To[int32](-5)}}, nil},
		"skip":                {clusterv1alpha1.MachineDrainRuleSpec{Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Skip"}}, nil},
		"skip, in order":      {clusterv1alpha1.MachineDrainRuleSpec{Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Skip", Order: ptr.To[int32](0)}}, []string{"Invalid spec.drain.order"}},
		"wait, in order":      {clusterv1alpha1.MachineDrainRuleSpec{Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "WaitCompleted", Order: ptr.To[int32](1)}}, []string{"Invalid spec.drain.order"}},
		"no behavior":         {clusterv1alpha1.MachineDrainRuleSpec{}, []string{"Required spec.drain.behavior"}},
		"an invalid behavior": {clusterv1alpha1.MachineDrainRuleSpec{Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Kill"}}, []string{"NotSupported spec.drain.behavior"}},
		"invalid selectors": {clusterv1alpha1.MachineDrainRuleSpec{
			Drain:    clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Drain"},
			Machines: []clusterv1alpha1.MachineDrainRuleMachineSelector{{Selector: odd}, {ClusterSelector: odd}},
			Pods:     []clusterv1alpha1.MachineDrainRulePodSelector{{Selector: odd}, {NamespaceSelector: odd}},
		}, []string{"Invalid spec.machines[0].selector.matchExpressions[0].operator", "Invalid spec.machines[1].clusterSelector.matchExpressions[0].operator",
			"Invalid spec.pods[0].selector.matchExpressions[0].operator", "Invalid spec.pods[1].namespaceSelector.matchExpressions[0].operator"}},
		"duplicate selectors": {clusterv1alpha1.MachineDrainRuleSpec{
			Drain:    clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: "Drain"},
			Machines: []clusterv1alpha1.MachineDrainRuleMachineSelector{{Selector: apps}, {ClusterSelector: apps}, {Selector: apps}},
			Pods:     []clusterv1alpha1.MachineDrainRulePodSelector{{Selector: apps}, {Selector: apps}},
		}, []string{"Duplicate spec.machines[2]", "Duplicate spec.pods[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &clusterv1alpha1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n"}, Spec: test.spec}
			if diff := cmp.Diff(test.want, problems(validation.ValidateMachineDrainRule(r))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			old := r.DeepCopy()
			old.ResourceVersion, r.ResourceVersion, r.Spec.Drain.Behavior = "1", "1", "Never"
			if len(validation.ValidateMachineDrainRuleUpdate(r, old)) == 0 || len(validation.ValidateMachineDrainRuleUpdate(old, old)) > 0 {
				t.Error("a changed spec is not validated, or an unchanged spec is")
			}
		})
	}
}

func TestValidateMachineHealthCheck(t *testing.T) {
	unhealthy := func(kind string, seconds int32) []clusterv1alpha1.UnhealthyCondition {
		return []clusterv1alpha1.UnhealthyCondition{{Type: kind, Status: "False", TimeoutSeconds: &seconds}}
	}
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.MachineHealthCheckSpec)
		want   []string
	}{
		"minimal": {func(*clusterv1alpha1.MachineHealthCheckSpec) {}, nil},
		"valid": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Selector.MatchLabels["cluster.x-k8s.io/cluster-name"] = "shop"
			s.Checks = clusterv1alpha1.MachineHealthCheckChecks{NodeStartupTimeoutSeconds: ptr.To[int32](30), UnhealthyNodeConditions: unhealthy("Ready", 300), UnhealthyMachineConditions: unhealthy("NodeReady", 0)}
			s.Remediation.TriggerIf = clusterv1alpha1.MachineHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: ptr.To(intstr.FromString("40%")), UnhealthyInRange: "[3-5]"}
			s.Remediation.TemplateRef = clusterv1alpha1.MachineHealthCheckRemediationTemplateReference{APIVersion: "a.example.com/v1beta2", Kind: "RebootTemplate", Name: "r"}
		}, nil},
		"no cluster":   {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.ClusterName = "" }, []string{"Required spec.clusterName"}},
		"all machines": {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Selector = metav1.LabelSelector{} }, []string{"Required spec.selector"}},
		"another cluster": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Selector.MatchLabels["cluster.x-k8s.io/cluster-name"] = "other"
		}, []string{"Invalid spec.selector.matchLabels[cluster.x-k8s.io/cluster-name]"}},
		"an invalid selector": {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Selector.MatchLabels["a b"] = "" }, []string{"Invalid spec.selector.matchLabels"}},
		"a short startup timeout": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Checks.NodeStartupTimeoutSeconds = ptr.To[int32](29)
		}, []string{"Invalid spec.checks.nodeStartupTimeoutSeconds"}},
		"no startup timeout": {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Checks.NodeStartupTimeoutSeconds = ptr.To[int32](0) }, nil},
		"a condition that depends on the health check": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Checks.UnhealthyMachineConditions = unhealthy("HealthCheckSucceeded", 1)
		}, []string{"Invalid spec.checks.unhealthyMachineConditions[0].type"}},
		"a negative timeout": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Checks.UnhealthyNodeConditions = unhealthy("Ready", -1)
		}, []string{"Invalid spec.checks.unhealthyNodeConditions[0].timeoutSeconds"}},
		"no condition": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Checks.UnhealthyNodeConditions = make([]clusterv1alpha1.UnhealthyCondition, 1)
		},
			[]string{"Required spec.checks.unhealthyNodeConditions[0].type", "Required spec.checks.unhealthyNodeConditions[0].status", "Required spec.checks.unhealthyNodeConditions[0].timeoutSeconds"}},
		"an invalid percentage": {func(s *clusterv1alpha1.MachineHealthCheckSpec) {
			s.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = ptr.To(intstr.FromString("half"))
		}, []string{"Invalid spec.remediation.triggerIf.unhealthyLessThanOrEqualTo"}},
		"a malformed range": {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Remediation.TriggerIf.UnhealthyInRange = "3-5" }, []string{"Invalid spec.remediation.triggerIf.unhealthyInRange"}},
		"a reversed range":  {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Remediation.TriggerIf.UnhealthyInRange = "[5-3]" }, []string{"Invalid spec.remediation.triggerIf.unhealthyInRange"}},
		"an incomplete template reference": {func(s *clusterv1alpha1.MachineHealthCheckSpec) { s.Remediation.TemplateRef.Kind = "Reboot" },
			[]string{"Invalid spec.remediation.templateRef.kind", "Required spec.remediation.templateRef.name", "Invalid spec.remediation.templateRef.apiVersion"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusterv1alpha1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "n"}}
			c.Spec = clusterv1alpha1.MachineHealthCheckSpec{ClusterName: "shop", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "workers"}}}
			test.change(&c.Spec)
			if diff := cmp.Diff(test.want, problems(validation.ValidateMachineHealthCheck(c))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	old := &clusterv1alpha1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "n", ResourceVersion: "1"}}
	old.Spec = clusterv1alpha1.MachineHealthCheckSpec{ClusterName: "shop", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "workers"}}}
	moved := old.DeepCopy()
	moved.Spec.ClusterName = "other"
	if diff := cmp.Diff([]string{"Invalid spec.clusterName"}, problems(validation.ValidateMachineHealthCheckUpdate(moved, old))); diff != "" {
		t.Errorf("errors for another cluster (-want +got):\n%s", diff)
	}
	updated := old.DeepCopy()
	updated.Status = clusterv1alpha1.MachineHealthCheckStatus{ExpectedMachines: ptr.To[int32](-1), CurrentHealthy: ptr.To[int32](-1), RemediationsAllowed: ptr.To[int32](-1), Targets: []string{"a b"}}
	want := []string{"Invalid status.expectedMachines", "Invalid status.currentHealthy", "Invalid status.remediationsAllowed", "Invalid status.targets[0]"}
	if diff := cmp.Diff(want, problems(validation.ValidateMachineHealthCheckStatusUpdate(updated, old))); diff != "" {
		t.Errorf("errors of an invalid status (-want +got):\n%s", diff)
	}
	updated.Status = clusterv1alpha1.MachineHealthCheckStatus{Targets: make([]string, 10_001)}
	if diff := cmp.Diff([]string{"TooMany status.targets"}, problems(validation.ValidateMachineHealthCheckStatusUpdate(updated, old))); diff != "" {
		t.Errorf("errors of a long status (-want +got):\n%s", diff)
	}
}
