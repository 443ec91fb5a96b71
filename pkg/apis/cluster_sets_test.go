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

func machineSet() *clusterv1alpha1.MachineSet {
	s := &clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "n"}}
	s.Spec.ClusterName = "shop"
	s.Spec.Selector.MatchLabels = map[string]string{"pool": "workers"}
	s.Spec.Template.Metadata.Labels = map[string]string{"pool": "workers", "os": "photon"}
	s.Spec.Template.Spec = machineSpec()
	s.Spec.Template.Spec.InfrastructureRef.Kind = "VirtualMachineTemplate"
	return s
}

func machineDeployment() *clusterv1alpha1.MachineDeployment {
	s := machineSet()
	d := &clusterv1alpha1.MachineDeployment{ObjectMeta: s.ObjectMeta}
	d.Spec.ClusterName, d.Spec.Selector, d.Spec.Template = s.Spec.ClusterName, s.Spec.Selector, s.Spec.Template
	return d
}

func TestValidateMachineSet(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.MachineSet)
		want   []string
	}{
		"valid":                          {func(*clusterv1alpha1.MachineSet) {}, nil},
		"no replicas":                    {func(s *clusterv1alpha1.MachineSet) { s.Spec.Replicas = ptr.To[int32](0) }, nil},
		"maximum replicas":               {func(s *clusterv1alpha1.MachineSet) { s.Spec.Replicas = ptr.To[int32](10_000) }, nil},
		"too many replicas":              {func(s *clusterv1alpha1.MachineSet) { s.Spec.Replicas = ptr.To[int32](10_001) }, []string{"Invalid spec.replicas"}},
		"negative replicas":              {func(s *clusterv1alpha1.MachineSet) { s.Spec.Replicas = ptr.To[int32](-1) }, []string{"Invalid spec.replicas"}},
		"an empty selector":              {func(s *clusterv1alpha1.MachineSet) { s.Spec.Selector = metav1.LabelSelector{} }, []string{"Required spec.selector"}},
		"a selector that does not match": {func(s *clusterv1alpha1.MachineSet) { s.Spec.Selector.MatchLabels["pool"] = "other" }, []string{"Invalid spec.template.metadata.labels"}},
		"an expression": {func(s *clusterv1alpha1.MachineSet) {
			s.Spec.Selector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "os", Operator: "In", Values: []string{"photon"}}}}
		}, nil},
		"an invalid expression": {func(s *clusterv1alpha1.MachineSet) {
			s.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "os", Operator: "Like"}}
		}, []string{"Invalid spec.selector.matchExpressions[0].operator"}},
		"invalid labels": {func(s *clusterv1alpha1.MachineSet) {
			s.Spec.Template.Metadata.Labels["a b"] = "c"
			s.Spec.Template.Metadata.Annotations = map[string]string{"a b": "c"}
		}, []string{"Invalid spec.template.metadata.labels", "Invalid spec.template.metadata.annotations"}},
		"a provider ID":    {func(s *clusterv1alpha1.MachineSet) { s.Spec.Template.Spec.ProviderID = "vsphere://1" }, []string{"Forbidden spec.template.spec.providerID"}},
		"another cluster":  {func(s *clusterv1alpha1.MachineSet) { s.Spec.Template.Spec.ClusterName = "other" }, []string{"Invalid spec.template.spec.clusterName"}},
		"an invalid order": {func(s *clusterv1alpha1.MachineSet) { s.Spec.Deletion.Order = "Worst" }, []string{"NotSupported spec.deletion.order"}},
		"names": {func(s *clusterv1alpha1.MachineSet) {
			s.Spec.MachineNaming.Template = "{{ .cluster.name }}-{{ .random }}"
		}, nil},
		"names that are not unique":          {func(s *clusterv1alpha1.MachineSet) { s.Spec.MachineNaming.Template = "node" }, []string{"Invalid spec.machineNaming.template"}},
		"invalid names":                      {func(s *clusterv1alpha1.MachineSet) { s.Spec.MachineNaming.Template = "Node_{{ .random }}" }, []string{"Invalid spec.machineNaming.template"}},
		"a template with control structures": {func(s *clusterv1alpha1.MachineSet) { s.Spec.MachineNaming.Template = "{{range .}}{{ .random }}{{end}}" }, []string{"Invalid spec.machineNaming.template"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := machineSet()
			test.change(s)
			if diff := cmp.Diff(test.want, problems(validation.ValidateMachineSet(s))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateMachineDeployment(t *testing.T) {
	amounts := func(unavailable, surge string) func(*clusterv1alpha1.MachineDeployment) {
		return func(d *clusterv1alpha1.MachineDeployment) {
			u, s := intstr.Parse(unavailable), intstr.Parse(surge)
			d.Spec.Rollout.Strategy.RollingUpdate = clusterv1alpha1.MachineDeploymentRolloutStrategyRollingUpdate{MaxUnavailable: &u, MaxSurge: &s}
		}
	}
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.MachineDeployment)
		want   []string
	}{
		"valid":            {func(*clusterv1alpha1.MachineDeployment) {}, nil},
		"numbers":          {amounts("0", "1"), nil},
		"percentages":      {amounts("25%", "0%"), nil},
		"zero numbers":     {amounts("0", "0"), []string{"Invalid spec.rollout.strategy.rollingUpdate"}},
		"zero percentages": {amounts("0%", "0"), []string{"Invalid spec.rollout.strategy.rollingUpdate"}},
		"invalid amounts":  {amounts("-1", "a lot"), []string{"Invalid spec.rollout.strategy.rollingUpdate.maxUnavailable", "Invalid spec.rollout.strategy.rollingUpdate.maxSurge"}},
		"a number as a string": {func(d *clusterv1alpha1.MachineDeployment) {
			d.Spec.Remediation.MaxInFlight = ptr.To(intstr.FromString("5"))
		}, []string{"Invalid spec.remediation.maxInFlight"}},
		"a large percentage":  {amounts("1", strings.Repeat("9", 30)+"%"), []string{"Invalid spec.rollout.strategy.rollingUpdate.maxSurge"}},
		"an invalid strategy": {func(d *clusterv1alpha1.MachineDeployment) { d.Spec.Rollout.Strategy.Type = "Recreate" }, []string{"NotSupported spec.rollout.strategy.type"}},
		"a long name":         {func(d *clusterv1alpha1.MachineDeployment) { d.Name = strings.Repeat("a", 64) }, []string{"Invalid metadata.name"}},
		"many revisions":      {func(d *clusterv1alpha1.MachineDeployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](101) }, []string{"Invalid spec.revisionHistoryLimit"}},
		"no old revisions":    {func(d *clusterv1alpha1.MachineDeployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](0) }, nil},
		"no machine": {func(d *clusterv1alpha1.MachineDeployment) {
			d.Spec.Template.Spec.InfrastructureRef = clusterv1alpha1.ContractVersionedObjectReference{}
		}, []string{"Required spec.template.spec.infrastructureRef"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := machineDeployment()
			test.change(d)
			if diff := cmp.Diff(test.want, problems(validation.ValidateMachineDeployment(d))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateMachineDeploymentUpdate_RejectsAnotherSelector(t *testing.T) {
	old := machineDeployment()
	old.ResourceVersion = "1"
	changed := old.DeepCopy()
	changed.Spec.ClusterName, changed.Spec.Template.Spec.ClusterName = "other", "other"
	changed.Spec.Selector.MatchLabels = map[string]string{"os": "photon"}
	if diff := cmp.Diff([]string{"Invalid spec.clusterName", "Invalid spec.selector"}, problems(validation.ValidateMachineDeploymentUpdate(changed, old))); diff != "" {
		t.Errorf("errors of a deployment (-want +got):\n%s", diff)
	}
	rolled := old.DeepCopy()
	rolled.Spec.Template.Spec.Version = "v1.37.0"
	if errs := validation.ValidateMachineDeploymentUpdate(rolled, old); len(errs) > 0 {
		t.Errorf("another version is rejected: %v", errs)
	}
	set := machineSet()
	set.ResourceVersion = "1"
	moved := set.DeepCopy()
	moved.Spec.ClusterName, moved.Spec.Template.Spec.ClusterName = "other", "other"
	if diff := cmp.Diff([]string{"Invalid spec.clusterName"}, problems(validation.ValidateMachineSetUpdate(moved, set))); diff != "" {
		t.Errorf("errors of a set (-want +got):\n%s", diff)
	}
}

func TestValidateMachineSetStatusUpdate(t *testing.T) {
	old := machineSet()
	old.ResourceVersion = "1"
	s := old.DeepCopy()
	s.Status = clusterv1alpha1.MachineSetStatus{Replicas: ptr.To[int32](-1), ReadyReplicas: ptr.To[int32](-1), AvailableReplicas: ptr.To[int32](-1), UpToDateReplicas: ptr.To[int32](-1),
		Selector: strings.Repeat("a", 4097), Versions: make([]clusterv1alpha1.StatusVersion, 101)}
	want := []string{"Invalid status.replicas", "Invalid status.readyReplicas", "Invalid status.availableReplicas", "Invalid status.upToDateReplicas", "TooLong status.selector", "TooMany status.versions"}
	if diff := cmp.Diff(want, problems(validation.ValidateMachineSetStatusUpdate(s, old))); diff != "" {
		t.Errorf("errors of a set (-want +got):\n%s", diff)
	}
	was := machineDeployment()
	was.ResourceVersion = "1"
	d := was.DeepCopy()
	d.Status = clusterv1alpha1.MachineDeploymentStatus{Replicas: s.Status.Replicas, Phase: "Broken", Versions: []clusterv1alpha1.StatusVersion{{Version: strings.Repeat("v", 257), Replicas: -1}}}
	want = []string{"Invalid status.replicas", "TooLong status.versions[0].version", "Invalid status.versions[0].replicas", "NotSupported status.phase"}
	if diff := cmp.Diff(want, problems(validation.ValidateMachineDeploymentStatusUpdate(d, was))); diff != "" {
		t.Errorf("errors of a deployment (-want +got):\n%s", diff)
	}
}
