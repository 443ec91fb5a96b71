// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
)

// problems returns the types and fields of errors.
func problems(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, fmt.Sprintf("%s %s", strings.TrimPrefix(string(err.Type), "FieldValue"), err.Field))
	}
	return all
}

func machineSpec() clusterv1alpha1.MachineSpec {
	return clusterv1alpha1.MachineSpec{
		ClusterName:       "shop",
		Version:           "v1.36.3",
		Bootstrap:         clusterv1alpha1.Bootstrap{DataSecretName: ptr.To("user-data")},
		InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "vm.slipway.dev", Kind: "VirtualMachine", Name: "m"},
		ReadinessGates:    []clusterv1alpha1.MachineReadinessGate{{ConditionType: "example.com/Ready", Polarity: "Negative"}},
		Taints:            []clusterv1alpha1.MachineTaint{{Key: "example.com/gpu", Value: "a100", Effect: "NoSchedule", Propagation: "Always"}},
	}
}

// fromTemplates is true for cases that apply only to templates.
type machineCase struct {
	change        func(*clusterv1alpha1.MachineSpec)
	want          []string
	fromTemplates bool
}

var machineCases = map[string]machineCase{
	"valid":                          {change: func(*clusterv1alpha1.MachineSpec) {}},
	"the fewest":                     {change: func(s *clusterv1alpha1.MachineSpec) { s.Version, s.ReadinessGates, s.Taints = "", nil, nil }},
	"no data needed":                 {change: func(s *clusterv1alpha1.MachineSpec) { s.Bootstrap.DataSecretName = ptr.To("") }},
	"no cluster":                     {change: func(s *clusterv1alpha1.MachineSpec) { s.ClusterName = "" }, want: []string{"Required clusterName"}},
	"a long cluster":                 {change: func(s *clusterv1alpha1.MachineSpec) { s.ClusterName = strings.Repeat("a", 64) }, want: []string{"Invalid clusterName"}},
	"a cluster in another namespace": {change: func(s *clusterv1alpha1.MachineSpec) { s.ClusterName = "prod/shop" }, want: []string{"Invalid clusterName", "Invalid clusterName"}},
	"no data":                        {change: func(s *clusterv1alpha1.MachineSpec) { s.Bootstrap = clusterv1alpha1.Bootstrap{} }, want: []string{"Required bootstrap"}},
	"data in another namespace":      {change: func(s *clusterv1alpha1.MachineSpec) { s.Bootstrap.DataSecretName = ptr.To("prod/data") }, want: []string{"Invalid bootstrap.dataSecretName"}},
	"half a config":                  {change: func(s *clusterv1alpha1.MachineSpec) { s.Bootstrap.ConfigRef.APIGroup = "a.b" }, want: []string{"Required bootstrap.configRef.kind", "Required bootstrap.configRef.name"}},
	"no machine": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.InfrastructureRef = clusterv1alpha1.ContractVersionedObjectReference{}
	}, want: []string{"Required infrastructureRef"}},
	"no group": {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.APIGroup = "" }, want: []string{"Required infrastructureRef.apiGroup"}},
	"a reference to the same group": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.InfrastructureRef.APIGroup, s.Bootstrap.ConfigRef = "cluster.slipway.dev", clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "cluster.slipway.dev", Kind: "ATemplate", Name: "m"}
	}, want: []string{"Invalid bootstrap.configRef.apiGroup", "Invalid infrastructureRef.apiGroup"}},
	"a version in the group":        {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.APIGroup = "vm.slipway.dev/v1alpha1" }, want: []string{"Invalid infrastructureRef.apiGroup"}},
	"a VM in another namespace":     {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.Name = "prod/m" }, want: []string{"Invalid infrastructureRef.name"}},
	"a long kind":                   {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.Kind = strings.Repeat("a", 56) + "Template" }, want: []string{"TooLong infrastructureRef.kind"}},
	"an invalid kind":               {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.Kind = "1Template" }, want: []string{"Invalid infrastructureRef.kind"}},
	"a kind that is not a template": {change: func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.Kind = "VirtualMachine" }, want: []string{"Invalid infrastructureRef.kind"}, fromTemplates: true},
	"no version":                    {change: func(s *clusterv1alpha1.MachineSpec) { s.Version = "v1.36" }, want: []string{"Invalid version"}},
	"without its v":                 {change: func(s *clusterv1alpha1.MachineSpec) { s.Version = "1.36.3" }, want: []string{"Invalid version"}},
	"a release candidate":           {change: func(s *clusterv1alpha1.MachineSpec) { s.Version = "v1.37.0-rc.0+build" }},
	"negative times": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.MinReadySeconds = ptr.To[int32](-1)
		s.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: ptr.To[int32](-1), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](-1), NodeDeletionTimeoutSeconds: ptr.To[int32](-1)}
	}, want: []string{"Invalid minReadySeconds", "Invalid deletion.nodeDrainTimeoutSeconds", "Invalid deletion.nodeVolumeDetachTimeoutSeconds", "Invalid deletion.nodeDeletionTimeoutSeconds"}},
	"gates": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.ReadinessGates = []clusterv1alpha1.MachineReadinessGate{{}, {ConditionType: "a b"}, {ConditionType: "A", Polarity: "Neutral"}, {ConditionType: "A"}}
	}, want: []string{"Required readinessGates[0].conditionType", "Invalid readinessGates[1].conditionType", "NotSupported readinessGates[2].polarity", "Duplicate readinessGates[3].conditionType"}},
	"empty taints": {change: func(s *clusterv1alpha1.MachineSpec) { s.Taints = []clusterv1alpha1.MachineTaint{{}} },
		want: []string{"Required taints[0].key", "Required taints[0].effect", "Required taints[0].propagation"}},
	"invalid taints": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.Taints = []clusterv1alpha1.MachineTaint{{Key: "a b", Value: "a b", Effect: "Never", Propagation: "Once"}}
	}, want: []string{"Invalid taints[0].key", "Invalid taints[0].value", "NotSupported taints[0].effect", "NotSupported taints[0].propagation"}},
	"a duplicate taint": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.Taints = append(s.Taints, s.Taints[0], clusterv1alpha1.MachineTaint{Key: "example.com/gpu", Effect: "NoExecute", Propagation: "OnInitialization"})
	}, want: []string{"Duplicate taints[1]"}},
	"reserved taints": {change: func(s *clusterv1alpha1.MachineSpec) {
		s.Taints = nil
		for _, key := range []string{"node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision", "node.kubernetes.io/not-ready", "node.kubernetes.io/out-of-service",
			"node.cloudprovider.kubernetes.io/shutdown", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"} {
			s.Taints = append(s.Taints, clusterv1alpha1.MachineTaint{Key: key, Effect: "NoSchedule", Propagation: "Always"})
		}
	}, want: []string{"Invalid taints[0].key", "Invalid taints[1].key", "Invalid taints[2].key", "Invalid taints[4].key", "Invalid taints[5].key", "Invalid taints[6].key"}},
}

func TestValidateMachine_AppliesSameRulesToTemplates(t *testing.T) {
	for name, test := range machineCases {
		t.Run(name, func(t *testing.T) {
			var want []string
			spec := machineSpec()
			test.change(&spec)
			for _, problem := range test.want {
				kind, at, _ := strings.Cut(problem, " ")
				want = append(want, kind+" spec."+at)
			}
			if !test.fromTemplates {
				m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "n"}, Spec: spec}
				if diff := cmp.Diff(want, problems(validation.ValidateMachine(m))); diff != "" {
					t.Errorf("errors of a machine (-want +got):\n%s", diff)
				}
			}
			spec = machineSpec()
			spec.InfrastructureRef.Kind = "VirtualMachineTemplate"
			test.change(&spec)
			for i := range want {
				want[i] = strings.Replace(want[i], " spec.", " spec.template.spec.", 1)
			}
			s := machineSet()
			s.Spec.Template.Spec = spec
			s.Spec.ClusterName = "shop"
			got := problems(validation.ValidateMachineSet(s))
			if spec.ClusterName != "" && spec.ClusterName != "shop" {
				want = append(want, "Invalid spec.template.spec.clusterName")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors of a template (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateMachine_AllowsControlPlaneTaintOnControlPlane(t *testing.T) {
	m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "n"}, Spec: machineSpec()}
	m.Spec.Taints[0].Key = "node-role.kubernetes.io/control-plane"
	if diff := cmp.Diff([]string{"Invalid spec.taints[0].key"}, problems(validation.ValidateMachine(m))); diff != "" {
		t.Errorf("errors of a worker (-want +got):\n%s", diff)
	}
	m.Labels = map[string]string{"cluster.x-k8s.io/control-plane": ""}
	if errs := validation.ValidateMachine(m); len(errs) > 0 {
		t.Errorf("a control plane machine is rejected: %v", errs)
	}
	m.Spec.Bootstrap, m.Labels["cluster.x-k8s.io/pool-name"] = clusterv1alpha1.Bootstrap{}, "pool"
	if errs := validation.ValidateMachine(m); len(errs) > 0 {
		t.Errorf("a pool machine without bootstrap data is rejected: %v", errs)
	}
}

func TestValidateMachineUpdate_RejectsAnotherCluster(t *testing.T) {
	old := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "n", ResourceVersion: "1"}, Spec: machineSpec()}
	moved := old.DeepCopy()
	moved.Spec.ClusterName = "other"
	if diff := cmp.Diff([]string{"Invalid spec.clusterName"}, problems(validation.ValidateMachineUpdate(moved, old))); diff != "" {
		t.Errorf("errors for another cluster (-want +got):\n%s", diff)
	}
	// Controllers write these fields.
	provided := old.DeepCopy()
	provided.Spec.ProviderID, provided.Spec.FailureDomain = "vsphere://1", "zone-1"
	if errs := validation.ValidateMachineUpdate(provided, old); len(errs) > 0 {
		t.Errorf("a provider ID is rejected: %v", errs)
	}
	old.Spec.Version = "latest" // stored before the rule existed
	freed := old.DeepCopy()
	freed.Finalizers, freed.Labels = nil, map[string]string{"a": "b"}
	if errs := validation.ValidateMachineUpdate(freed, old); len(errs) > 0 {
		t.Errorf("a machine with an old spec cannot be labeled and deleted: %v", errs)
	}
	old.Spec, old.Labels = machineSpec(), map[string]string{"cluster.x-k8s.io/control-plane": ""}
	old.Spec.Taints[0].Key = "node-role.kubernetes.io/control-plane"
	worker := old.DeepCopy()
	worker.Labels = nil
	if diff := cmp.Diff([]string{"Invalid spec.taints[0].key"}, problems(validation.ValidateMachineUpdate(worker, old))); diff != "" {
		t.Errorf("errors for a machine that leaves the control plane and keeps its taint (-want +got):\n%s", diff)
	}
}

func TestValidateMachineStatusUpdate(t *testing.T) {
	old := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "n", ResourceVersion: "1"}, Spec: machineSpec()}
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.MachineStatus)
		want   []string
	}{
		"empty": {func(*clusterv1alpha1.MachineStatus) {}, nil},
		"valid": {func(s *clusterv1alpha1.MachineStatus) {
			s.Phase, s.NodeRef.Name, s.Addresses = "Running", "node-1", []clusterv1alpha1.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "Hostname", Address: "node-1"}}
			s.NodeInfo = &clusterv1alpha1.NodeSystemInfo{OSImage: "Photon OS 5"}
			s.Deletion = &clusterv1alpha1.MachineDeletionStatus{Stage: "Drain"}
		}, nil},
		"failed": {func(s *clusterv1alpha1.MachineStatus) { s.Phase = "Failed" }, nil},
		"addresses": {func(s *clusterv1alpha1.MachineStatus) {
			s.Addresses = []clusterv1alpha1.MachineAddress{{Type: "IPv4", Address: "10.0.0.1"}, {}, {Type: "Hostname", Address: strings.Repeat("a", 257)}, {Type: "Hostname", Address: "a\x1b[31m"}}
		}, []string{"NotSupported status.addresses[0].type", "Required status.addresses[1].type", "Required status.addresses[1].address", "TooLong status.addresses[2].address", "Invalid status.addresses[3].address"}},
		"many addresses":  {func(s *clusterv1alpha1.MachineStatus) { s.Addresses = make([]clusterv1alpha1.MachineAddress, 257) }, []string{"TooMany status.addresses"}},
		"many conditions": {func(s *clusterv1alpha1.MachineStatus) { s.Conditions = make([]metav1.Condition, 33) }, []string{"TooMany status.conditions"}},
		"invalid values": {func(s *clusterv1alpha1.MachineStatus) {
			s.Phase, s.NodeRef.Name, s.FailureDomain = "Broken", "n/1", strings.Repeat("a", 257)
			s.NodeInfo = &clusterv1alpha1.NodeSystemInfo{OSImage: "a\x00"}
			s.Deletion = &clusterv1alpha1.MachineDeletionStatus{Stage: "Begun"}
		}, []string{"Invalid status.nodeRef.name", "Invalid status.nodeInfo.osImage", "TooLong status.failureDomain", "NotSupported status.phase", "NotSupported status.deletion.stage"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := old.DeepCopy()
			test.change(&m.Status)
			if diff := cmp.Diff(test.want, problems(validation.ValidateMachineStatusUpdate(m, old))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
