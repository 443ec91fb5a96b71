// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestMachineSet_ReportsWhyItIsBlocked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*set)
		reason string
		want   string
		// observed is the expected observed generation.
		observed int64
	}{
		"no template":     {func(s *set) { s.Spec.Template.Spec.InfrastructureRef.Name = "large" }, "WaitingForTemplate", "InfraTemplate large does not exist", 4},
		"no such kind":    {func(s *set) { s.Spec.Template.Spec.InfrastructureRef.Kind = "XTemplate" }, "ScalingUpBlocked", "unknown kind", 0},
		"no cluster":      {func(s *set) { s.Spec.ClusterName = "none" }, "WaitingForCluster", "Cluster none does not exist", 4},
		"no selection":    {func(s *set) { s.Spec.Selector.MatchLabels["app"] = "other" }, "ScalingUpBlocked", "does not select the Machines of the template", 0},
		"no random names": {func(s *set) { s.Spec.MachineNaming.Template = "{{ .nothing }}" }, "ScalingUpBlocked", "machineNaming.template", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := theSet(1)
				s.Generation = 4
				test.change(s)
				f := run(t, s)
				defer func() { f.stop() }()
				f.expectCondition(clusterv1alpha1.ScalingUpCondition, "True", test.reason, test.want)
				f.expectCondition("Reconciling", "True", test.reason, test.want)
				if got := f.set().Status.ObservedGeneration; got != test.observed {
					t.Errorf("observed generation %d, want %d", got, test.observed)
				}
				if n := len(f.names()); n != 0 {
					t.Errorf("there are %d Machines", n)
				}
			})
		})
	}
}

func TestPlanRemediation_LimitsRemediations(t *testing.T) {
	unhealthyMachine := func(name string, minutes int, as ...func(*machine)) *machine {
		m := &machine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute))}}
		withCondition(clusterv1alpha1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "UnhealthyNode")(m)
		withCondition(clusterv1alpha1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, "WaitingForRemediation")(m)
		for _, f := range as {
			f(m)
		}
		return m
	}
	annotated := func(m *machine) { m.Annotations = map[string]string{clusterv1alpha1.RemediateMachineAnnotation: ""} }
	deleting := func(m *machine) {
		m.DeletionTimestamp = &metav1.Time{}
		withCondition(clusterv1alpha1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, clusterv1alpha1.RemediationMachineDeletingReason)(m)
	}
	healed := unhealthyMachine("healed", 0, withCondition(clusterv1alpha1.MachineHealthCheckSucceededCondition, metav1.ConditionTrue, "HealthCheckSucceeded"))
	of := func(revision string, most *intstr.IntOrString) *clusterv1alpha1.MachineDeployment {
		d := &clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1alpha1.RevisionAnnotation: revision}}}
		d.Spec.Replicas, d.Spec.Remediation.MaxInFlight = ptr.To[int32](10), most
		return d
	}
	s := theSet(3)
	s.Annotations = map[string]string{clusterv1alpha1.RevisionAnnotation: "2"}
	for name, test := range map[string]struct {
		deployment *clusterv1alpha1.MachineDeployment
		machines   []*machine
		want       []string
	}{
		"a set alone replaces all":        {nil, []*machine{unhealthyMachine("a", 1), unhealthyMachine("b", 2)}, []string{"b MachineDeleting", "a MachineDeleting"}},
		"the youngest first":              {of("2", ptr.To(intstr.FromInt(1))), []*machine{unhealthyMachine("a", 1), unhealthyMachine("b", 2)}, []string{"b MachineDeleting", "a RemediationDeferred"}},
		"those with the annotation first": {of("2", ptr.To(intstr.FromString("10%"))), []*machine{unhealthyMachine("a", 1, annotated), unhealthyMachine("b", 2)}, []string{"a MachineDeleting", "b RemediationDeferred"}},
		"one is already being deleted":    {of("2", ptr.To(intstr.FromInt(1))), []*machine{unhealthyMachine("a", 1, deleting), unhealthyMachine("b", 2)}, []string{"b RemediationDeferred"}},
		"no limit":                        {of("2", nil), []*machine{unhealthyMachine("a", 1)}, []string{"a MachineDeleting"}},
		"of an older revision":            {of("3", nil), []*machine{unhealthyMachine("a", 1)}, []string{"a CannotBeRemediated"}},
		"one that is healthy again":       {nil, []*machine{healed}, []string{"healed "}},
		"a healthy one":                   {nil, []*machine{{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := planRemediation(s, test.deployment, test.machines)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range all {
				got = append(got, r.machine.Name+" "+r.reason)
				if r.mustDelete != (r.reason == clusterv1alpha1.RemediationMachineDeletingReason) {
					t.Errorf("remove of %s is %t", r.machine.Name, r.mustDelete)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("remedies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewName_IsUniqueAndRepeatable(t *testing.T) {
	none := func(string) bool { return false }
	s := theSet(1)
	first, err := newName(s, nil, none)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := newName(s, nil, none); again != first || !strings.HasPrefix(first, "ms-") || len(first) != len("ms-")+randomLength {
		t.Errorf("names are %s and %s, want the same, ms- and %d characters", first, again, randomLength)
	}
	for what, other := range map[string]func() (string, error){
		"next to the first":     func() (string, error) { return newName(s, []string{first}, none) },
		"if the first is used":  func() (string, error) { return newName(s, nil, func(n string) bool { return n == first }) },
		"of another generation": func() (string, error) { s := theSet(1); s.Generation = 2; return newName(s, nil, none) },
		"of another set":        func() (string, error) { s := theSet(1); s.UID = "other"; return newName(s, nil, none) },
	} {
		if got, err := other(); err != nil || got == first {
			t.Errorf("%s: %s (%v), want another name", what, got, err)
		}
	}
	s.Spec.MachineNaming.Template = "{{ .cluster.name }}-x-{{ .random }}-{{ .machineSet.name }}"
	if got, err := newName(s, nil, none); err != nil || !strings.HasPrefix(got, "c-x-") || !strings.HasSuffix(got, "-ms") {
		t.Errorf("by a template: %s (%v)", got, err)
	}
	s.Spec.MachineNaming.Template, s.Name = "", strings.Repeat("long", 30)
	if got, err := newName(s, nil, none); err != nil || len(got) != 63 {
		t.Errorf("of a long set: %s (%v), want 63 characters", got, err)
	}
	for _, bad := range []string{"{{ .random", "{{ .what }}", "UPPER-{{ .random }}", "fixed"} {
		s.Spec.MachineNaming.Template = bad
		taken := func(n string) bool { return n == "fixed" }
		if got, err := newName(s, nil, taken); err == nil {
			t.Errorf("%q gives the name %s", bad, got)
		}
	}
}

func TestPropagate_KeepsMetadataOfOtherClients(t *testing.T) {
	s := theSet(1)
	m := newMachine(s, "m")
	m.Labels["mine"], m.Annotations["mine"] = "x", "x"
	s.Spec.Template.Metadata.Annotations = nil
	if !propagate(s, m) {
		t.Error("no change was reported")
	}
	if m.Labels["mine"] != "x" || m.Annotations["mine"] != "x" {
		t.Errorf("metadata of others was removed: %v, %v", m.Labels, m.Annotations)
	}
	if _, ok := m.Annotations["note"]; ok {
		t.Error("metadata that was removed from the template remains")
	}
	if propagate(s, m) {
		t.Error("a second call reported a change")
	}
	m.Annotations[FromSetAnnotation] = "{nonsense"
	if !propagate(s, m) || m.Labels["mine"] != "x" {
		t.Errorf("after its annotation was invalidated: %v", m.Labels)
	}
}
