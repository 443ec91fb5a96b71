// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// like changes a Machine.
type like func(*machine)

// a returns a Machine with a Node that is Ready and available, created the given minutes after begin.
func a(name string, minutes int, as ...like) *machine {
	m := &machine{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "x"}, CreationTimestamp: metav1.NewTime(begin.Add(time.Duration(minutes) * time.Minute))}}
	m.Spec.ClusterName = "c"
	m.Status.NodeRef.Name = name
	for _, kind := range []string{"Ready", "Available", "NodeHealthy", "NodeReady"} {
		is(kind, metav1.ConditionTrue)(m)
	}
	for _, f := range as {
		f(m)
	}
	return m
}

func is(conditionType string, status metav1.ConditionStatus) like {
	return says(conditionType, status, string(status), "")
}

func says(conditionType string, status metav1.ConditionStatus, reason, message string) like {
	return func(m *machine) {
		conditions.Set(&m.Status.Conditions, begin, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
	}
}

func annotated(key string) like {
	return func(m *machine) { m.Annotations = map[string]string{key: ""} }
}

func markDeleting(m *machine) { m.DeletionTimestamp = &metav1.Time{Time: begin} }
func nodeless(m *machine) {
	m.Status.NodeRef.Name = ""
}

func namesOf(all []*machine) []string {
	names := []string{}
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

func TestFirstToDelete_ReturnsTheMachinesToDeleteFirst(t *testing.T) {
	all := []*machine{
		a("well-1", 1), a("well-2", 2), a("well-3", 3),
		a("unready", 4, is("Ready", metav1.ConditionFalse)),
		a("silent", 5, is("Ready", metav1.ConditionUnknown)),
		a("sick-node", 6, is("NodeHealthy", metav1.ConditionFalse)),
		a("unhealthy", 7, is("HealthCheckSucceeded", metav1.ConditionFalse)),
		a("nodeless", 8, nodeless),
		a("marked", 9, annotated(clusterv1alpha1.DeleteMachineAnnotation)),
		a("going", 10, markDeleting),
	}
	for name, test := range map[string]struct {
		order Order
		n     int
		want  []string
	}{
		"random sorts by name":  {"Random", 10, []string{"going", "marked", "nodeless", "sick-node", "unhealthy", "silent", "unready", "well-1", "well-2", "well-3"}},
		"random is the default": {"", 4, []string{"going", "marked", "nodeless", "sick-node"}},
		"oldest":                {"Oldest", 8, []string{"going", "marked", "sick-node", "unhealthy", "nodeless", "unready", "silent", "well-1"}},
		"newest":                {"Newest", 8, []string{"going", "marked", "nodeless", "unhealthy", "sick-node", "silent", "unready", "well-3"}},
		"none":                  {"Random", 0, []string{}},
		"a negative number":     {"Random", -3, []string{}},
		"more than exist":       {"Oldest", 99, []string{"going", "marked", "sick-node", "unhealthy", "nodeless", "unready", "silent", "well-1", "well-2", "well-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, given := range [][]*machine{all, reversed(all)} {
				before := namesOf(given)
				if diff := cmp.Diff(test.want, namesOf(FirstToDelete(given, test.n, test.order))); diff != "" {
					t.Errorf("first (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(before, namesOf(given)); diff != "" {
					t.Errorf("the list was changed (-was +is):\n%s", diff)
				}
			}
		})
	}
}

func reversed(all []*machine) []*machine {
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}

func TestCount_CountsMachines(t *testing.T) {
	version := func(v string) like { return func(m *machine) { m.Spec.Version = v } }
	got := Count([]*machine{
		a("x", 0, version("v2"), is("UpToDate", metav1.ConditionTrue)), a("y", 0, version("v1"), is("Available", metav1.ConditionFalse)),
		a("z", 0, version("v2"), is("Ready", metav1.ConditionUnknown), is("NodeReady", metav1.ConditionFalse), markDeleting),
	})
	want := Counts{Replicas: 3, Ready: 2, Available: 2, UpToDate: 1, Versions: []clusterv1alpha1.StatusVersion{{Version: "v1", Replicas: 1}, {Version: "v2", Replicas: 2}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if !IsAvailable(a("x", 0)) || IsAvailable(a("x", 0, markDeleting)) || IsAvailable(a("x", 0, is("Available", metav1.ConditionFalse))) {
		t.Error("Available is wrong")
	}
}

func TestMachinesReady_AggregatesConditions(t *testing.T) {
	many := []*machine{a("ok", 0)}
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		many = append(many, a(name, 0, says("Ready", metav1.ConditionFalse, "NotReady", "no address")))
	}
	many = append(many, a("f", 0, says("Ready", metav1.ConditionFalse, "Deleting", "")), &machine{ObjectMeta: metav1.ObjectMeta{Name: "new"}})
	for name, test := range map[string]struct {
		of   []*machine
		want metav1.Condition
	}{
		"none":      {nil, metav1.Condition{Type: "MachinesReady", Status: "True", Reason: "NoReplicas"}},
		"all Ready": {[]*machine{a("x", 0), a("y", 0)}, metav1.Condition{Type: "MachinesReady", Status: "True", Reason: "Ready"}},
		"one Unknown": {[]*machine{a("x", 0), a("y", 0, says("Ready", metav1.ConditionUnknown, "ReadyUnknown", "no contact"))},
			metav1.Condition{Type: "MachinesReady", Status: "Unknown", Reason: "ReadyUnknown", Message: "Machine y: no contact"}},
		"many": {many, metav1.Condition{
			Type: "MachinesReady", Status: "False", Reason: "NotReady",
			Message: "Machines a, b, c and 2 more: no address; Machine f: Deleting; Machine new: Condition Ready not yet reported",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, given := range [][]*machine{test.of, reversed(test.of)} {
				if diff := cmp.Diff(test.want, MachinesReady(given)); diff != "" {
					t.Errorf("MachinesReady (-want +got):\n%s", diff)
				}
			}
		})
	}
	upToDate := MachinesUpToDate([]*machine{a("new", 0), a("old", 0, says("UpToDate", metav1.ConditionFalse, "NotUpToDate", "* Version"))})
	if diff := cmp.Diff(metav1.Condition{Type: "MachinesUpToDate", Status: "False", Reason: "NotUpToDate", Message: "Machine old: * Version"}, upToDate); diff != "" {
		t.Errorf("MachinesUpToDate ignores Machines without the condition (-want +got):\n%s", diff)
	}
}

func TestRemediating_ListsMachines(t *testing.T) {
	sick := is("HealthCheckSucceeded", metav1.ConditionFalse)
	requested := says("OwnerRemediated", metav1.ConditionFalse, "RemediationDeferred", "")
	for name, test := range map[string]struct {
		of                      []*machine
		status, reason, message string
	}{
		"all healthy":              {[]*machine{a("x", 0)}, "False", "NotRemediating", ""},
		"unhealthy, not requested": {[]*machine{a("x", 0, sick)}, "False", "NotRemediating", "Machine x unhealthy; the owner does not replace them"},
		"requested, healthy again": {[]*machine{a("x", 0, requested)}, "False", "NotRemediating", ""},
		"unhealthy and requested":  {[]*machine{a("y", 0, sick, requested), a("x", 0, sick)}, "True", "Remediating", "Machine y (RemediationDeferred)"},
	} {
		got := Remediating(test.of)
		if string(got.Status) != test.status || got.Reason != test.reason || got.Message != test.message {
			t.Errorf("%s: %s %s %q, want %s %s %q", name, got.Status, got.Reason, got.Message, test.status, test.reason, test.message)
		}
	}
}

func TestPaused_ReportsTheReason(t *testing.T) {
	paused, free := &cluster{Spec: clusterv1alpha1.ClusterSpec{Paused: ptr.To(true)}}, &cluster{}
	for name, test := range map[string]struct {
		in   *cluster
		of   *machine
		want string
	}{
		"not paused":     {free, a("x", 0), ""},
		"no cluster":     {nil, a("x", 0), ""},
		"by its cluster": {paused, a("x", 0), "Cluster spec.paused is set to true"},
		"by itself":      {free, a("x", 0, annotated(clusterv1alpha1.PausedAnnotation)), "Machine has the cluster.x-k8s.io/paused annotation"},
		"by both":        {paused, a("x", 0, annotated(clusterv1alpha1.PausedAnnotation)), "Cluster spec.paused is set to true, Machine has the cluster.x-k8s.io/paused annotation"},
	} {
		got := Paused(test.in, test.of, "Machine")
		if want := test.want != ""; got.Message != test.want || (got.Status == metav1.ConditionTrue) != want || (got.Reason == "Paused") != want {
			t.Errorf("%s: %s %s %q, want %q", name, got.Status, got.Reason, got.Message, test.want)
		}
	}
}

func TestAddOwner_AddsOwnersOnce(t *testing.T) {
	in := &cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "new"}}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Cluster", Name: "c", UID: "other"}
	m := a("x", 0, func(m *machine) {
		m.OwnerReferences = []metav1.OwnerReference{other, {APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "old"}}
	})
	if !AddOwner(m, in) {
		t.Error("the reference to the previous Cluster was not replaced")
	}
	want := []metav1.OwnerReference{other, {APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "new"}}
	if diff := cmp.Diff(want, m.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if AddOwner(m, in) || !IsOwnedBy(m, "Cluster") || IsOwnedBy(m, "MachineSet") {
		t.Error("it must be owned only by the Cluster")
	}
	SetController(m, &clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s"}}, "MachineSet")
	if diff := cmp.Diff([]string{"s"}, ControllerUID(m)); diff != "" {
		t.Errorf("controller (-want +got):\n%s", diff)
	}
	if !SetClusterLabel(m, "c") || SetClusterLabel(m, "c") || m.Labels[clusterv1alpha1.ClusterNameLabel] != "c" || m.Labels["app"] != "x" {
		t.Errorf("labels are %v", m.Labels)
	}
}

func TestIsSelected_MatchesMachinesOfTheCluster(t *testing.T) {
	app := metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	for name, test := range map[string]struct {
		selector metav1.LabelSelector
		cluster  string
		want     bool
	}{
		"match":                {app, "c", true},
		"other cluster":        {app, "d", false},
		"other labels":         {metav1.LabelSelector{MatchLabels: map[string]string{"app": "y"}}, "c", false},
		"empty":                {metav1.LabelSelector{}, "c", false},
		"invalid":              {metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}}, "c", false},
		"by expression":        {metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}, "c", true},
		"label must not exist": {metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}, "c", false},
	} {
		if got := IsSelected(&test.selector, test.cluster, a("x", 0)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func template(change func(*clusterv1alpha1.MachineTemplateSpec)) *clusterv1alpha1.MachineTemplateSpec {
	t := &clusterv1alpha1.MachineTemplateSpec{}
	t.Spec.Version = "v1.36.0"
	t.Spec.InfrastructureRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "vm.slipway.dev", Kind: "VirtualMachineTemplate", Name: "one"}
	t.Spec.Bootstrap.ConfigRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "b.dev", Kind: "KubeadmConfigTemplate", Name: "one"}
	if change != nil {
		change(t)
	}
	return t
}

func TestTemplateDifferences_IgnoresFieldsChangedInPlace(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*clusterv1alpha1.MachineTemplateSpec)
		want   []string
	}{
		"nothing": {nil, nil},
		"labels":  {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Metadata.Labels = map[string]string{"a": "b"} }, nil},
		"timeouts": {func(t *clusterv1alpha1.MachineTemplateSpec) {
			t.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](1)
		}, nil},
		"gates": {func(t *clusterv1alpha1.MachineTemplateSpec) {
			t.Spec.ReadinessGates = []clusterv1alpha1.MachineReadinessGate{{ConditionType: "x"}}
		}, nil},
		"taints": {func(t *clusterv1alpha1.MachineTemplateSpec) {
			t.Spec.Taints = []clusterv1alpha1.MachineTaint{{Key: "x"}}
		}, nil},
		"seconds":        {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.MinReadySeconds = ptr.To[int32](1) }, nil},
		"version":        {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.Version = "v1.37.0" }, []string{"Version v1.36.0, v1.37.0 required"}},
		"infrastructure": {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.InfrastructureRef.Name = "two" }, []string{"VirtualMachine is not up-to-date"}},
		"bootstrap":      {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.Bootstrap.ConfigRef.Name = "two" }, []string{"KubeadmConfig is not up-to-date"}},
		"secret":         {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.Bootstrap.DataSecretName = ptr.To("s") }, []string{"KubeadmConfig is not up-to-date"}},
		"domain and version": {func(t *clusterv1alpha1.MachineTemplateSpec) { t.Spec.FailureDomain, t.Spec.Version = "z", "" },
			[]string{"Version v1.36.0,  required", "Failure domain , z required"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, TemplateDifferences(template(nil), template(test.change))); diff != "" {
				t.Errorf("outdated (-want +got):\n%s", diff)
			}
			same := Hash(template(nil), 0) == Hash(template(test.change), 0)
			if same != (test.want == nil) {
				t.Errorf("hashes are equal: %t", same)
			}
		})
	}
	for try := range 1000 {
		if hash := Hash(template(nil), try); strings.Trim(hash, alphabet) != "" || len(hash) != hashLength {
			t.Fatalf("%q is not a valid name", hash)
		}
	}
	if Hash(template(nil), 0) == Hash(template(nil), 1) {
		t.Error("another try has the same hash")
	}
}
