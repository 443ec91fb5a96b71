// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

var clusterC = types.NamespacedName{Namespace: ns, Name: "c"}

// Behaviors MB22-25 of test/behaviours: the Cluster of a watched Node is known independently of its annotations.
func TestController_QueuesTheMachineOfANode(t *testing.T) {
	annotations := map[string]map[string]string{
		"none":      nil,
		"name":      {clusterv1alpha1.ClusterNameAnnotation: "c"},
		"namespace": {clusterv1alpha1.ClusterNamespaceAnnotation: ns},
		"both":      {clusterv1alpha1.ClusterNameAnnotation: "c", clusterv1alpha1.ClusterNamespaceAnnotation: ns},
	}
	for name, a := range annotations {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newMachine(running), newMachine(named("m2"), provisioned, func(m *machine) { m.Spec.ProviderID = "example://2" }),
				newMachine(named("x"), running, func(m *machine) { m.Spec.ClusterName = "other" }))
			n := newNode()
			n.Annotations = a
			f.c.OnNode(clusterC, n)
			if diff := cmp.Diff([]string{"m"}, f.queued()); diff != "" {
				t.Errorf("queued by the name of the Node (-want +got):\n%s", diff)
			}
			n.Name, n.Spec.ProviderID = "new", "example://2"
			f.c.OnNode(clusterC, n)
			if diff := cmp.Diff([]string{"m2"}, f.queued()); diff != "" {
				t.Errorf("queued by the provider ID (-want +got):\n%s", diff)
			}
			f.c.OnNode(clusterC, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}})
			if got := f.queued(); len(got) != 0 {
				t.Errorf("queued %v for a Node without a Machine", got)
			}
		})
	}
}

// Behaviors MB27, MC23 of test/behaviours.
func TestController_QueuesAllMachinesOfAWorkloadCluster(t *testing.T) {
	f := newFixture(t, newMachine(), newMachine(named("m2"), running), newMachine(named("x"), func(m *machine) { m.Spec.ClusterName = "other" }))
	f.c.OnCluster(clusterC)
	if diff := cmp.Diff([]string{"m", "m2"}, f.queued()); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// Behaviors MB19-20, MB26 of test/behaviours.
func TestController_QueuesTheMachineOfAReferencedObject(t *testing.T) {
	f := newFixture(t, newMachine())
	version := func(v string, annotations map[string]string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
		o := infra()
		o.SetResourceVersion(v)
		o.SetAnnotations(annotations)
		o.SetOwnerReferences(owners)
		return o
	}
	ours := metav1.OwnerReference{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Machine", Name: "m"}
	theirs := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m"}
	paused := map[string]string{clusterv1alpha1.PausedAnnotation: ""}
	h := f.c.externalHandler()
	steps := map[string]struct {
		happen func()
		want   []string
	}{
		"a change":                    {func() { h.OnUpdate(version("1", nil, ours), version("2", nil, ours)) }, []string{"m"}},
		"no change":                   {func() { h.OnUpdate(version("1", nil, ours), version("1", nil, ours)) }, nil},
		"a change of a paused object": {func() { h.OnUpdate(version("1", nil, ours), version("2", paused, ours)) }, nil},
		"a change of another controller's object": {func() { h.OnUpdate(version("1", nil, theirs), version("2", nil, theirs)) }, nil},
		"a deletion":                    {func() { h.OnDelete(version("1", nil, ours)) }, []string{"m"}},
		"a deletion that was missed":    {func() { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: version("1", nil, ours)}) }, []string{"m"}},
		"an object of the initial list": {func() { h.OnAdd(version("1", nil, ours), true) }, []string{"m"}},
	}
	for name, step := range steps {
		step.happen()
		if diff := cmp.Diff(step.want, f.queued()); diff != "" {
			t.Errorf("%s: queued (-want +got):\n%s", name, diff)
		}
	}
}

// updates calls h for an update with a new resource version.
func updates(h cache.ResourceEventHandler, old, now metav1.Object) {
	old.SetResourceVersion("1")
	now.SetResourceVersion("2")
	h.OnUpdate(old, now)
}

// Behaviors MC21-22 of test/behaviours.
func TestController_QueuesTheMachinesOfAnOwner(t *testing.T) {
	f := newFixture(t, ownedMachine(func(m *machine) { m.Labels[clusterv1alpha1.MachineDeploymentNameLabel] = "d" }), newMachine(named("alone")))
	revision := func(s *machineSet) { s.Annotations = map[string]string{clusterv1alpha1.RevisionAnnotation: "2"} }
	sets, deployments := f.c.setHandler(), f.c.deploymentHandler()
	for name, step := range map[string]struct {
		happen func()
		want   []string
	}{
		"a status of a set":          {func() { updates(sets, newSet(), newSet(func(s *machineSet) { s.Status.ObservedGeneration = 9 })) }, nil},
		"a template of a set":        {func() { updates(sets, newSet(), newSet(func(s *machineSet) { s.Generation = 9 })) }, []string{"m"}},
		"a revision of a set":        {func() { updates(sets, newSet(), newSet(revision)) }, []string{"m"}},
		"a set that appears":         {func() { sets.OnAdd(newSet(), false) }, []string{"m"}},
		"a set of the initial list":  {func() { sets.OnAdd(newSet(), true) }, nil},
		"a deleted set":              {func() { sets.OnDelete(newSet()) }, []string{"m"}},
		"a template of a deployment": {func() { updates(deployments, newDeployment(), newDeployment(func(d *deployment) { d.Generation = 9 })) }, []string{"m"}},
		"a deleted deployment":       {func() { deployments.OnDelete(newDeployment()) }, []string{"m"}},
		"a status of a deployment": {func() {
			updates(deployments, newDeployment(), newDeployment(func(d *deployment) { d.Status.ObservedGeneration = 9 }))
		}, nil},
		"a Cluster that appears": {func() { f.c.clusterHandler().OnAdd(newCluster(), false) }, []string{"alone", "m"}},
		"a removed Cluster":      {func() { f.c.clusterHandler().OnDelete(newCluster()) }, []string{"alone", "m"}},
		"a Cluster that is being deleted": {func() {
			updates(f.c.clusterHandler(), newCluster(), newCluster(func(c *cluster) { c.DeletionTimestamp = &metav1.Time{} }))
		}, []string{"alone", "m"}},
		"an initialized control plane": {func() {
			updates(f.c.clusterHandler(), newCluster(func(c *cluster) { c.Status.Conditions = nil }), newCluster())
		}, []string{"alone", "m"}},
	} {
		step.happen()
		if diff := cmp.Diff(step.want, f.queued()); diff != "" {
			t.Errorf("%s: queued (-want +got):\n%s", name, diff)
		}
	}
}

func TestPriority_PrefersUnprovisionedAndDeletingMachines(t *testing.T) {
	for name, c := range map[string]struct {
		m    *machine
		want int
	}{
		"new":         {newMachine(), PriorityUnprovisioned},
		"provisioned": {newMachine(provisioned), PriorityWithoutNode},
		"deleted":     {newMachine(running, deleted), PriorityDeleting},
		"stable":      {newMachine(running), controller.PriorityDefaultGeneric},
	} {
		if got := priority(c.m, controller.PriorityDefaultGeneric); got != c.want {
			t.Errorf("%s: priority %d, want %d", name, got, c.want)
		}
	}
}

func TestDeferral_EndsAfterItsTimeOrWithAChange(t *testing.T) {
	var d deferrals
	m, c := newMachine(running, deleted), newCluster()
	key := controller.KeyOf(m)
	d.put(key, began.Add(20*time.Second), inputsOf(m, c))
	if got := d.remaining(key, inputsOf(m, c), began.Add(5*time.Second)); got != 15*time.Second {
		t.Errorf("remaining %s", got)
	}
	later := m.DeepCopy()
	later.Status.Phase, later.ResourceVersion = "x", "7"
	if got := d.remaining(key, inputsOf(later, c), began.Add(5*time.Second)); got != 15*time.Second {
		t.Errorf("remaining %s after a change of the status", got)
	}
	for name, a := range map[string]inputs{
		"annotation":          inputsOf(newMachine(running, deleted, annotated("a", "b")), c),
		"generation":          inputsOf(newMachine(running, deleted, func(m *machine) { m.Generation++ }), c),
		"another object":      inputsOf(newMachine(running, deleted, func(m *machine) { m.UID = "x" }), c),
		"Cluster deleted":     inputsOf(m, newCluster(func(c *cluster) { c.DeletionTimestamp = &metav1.Time{} })),
		"Cluster paused":      inputsOf(m, newCluster(func(c *cluster) { c.Spec.Paused = pointer(true) })),
		"no Cluster":          inputsOf(m, nil),
		"the time has passed": inputsOf(m, c),
	} {
		d.put(key, began.Add(20*time.Second), inputsOf(m, c))
		now := began.Add(5 * time.Second)
		if name == "the time has passed" {
			now = began.Add(20 * time.Second)
		}
		if got := d.remaining(key, a, now); got != 0 {
			t.Errorf("%s: remaining %s", name, got)
		}
		if len(d.all) != 0 {
			t.Errorf("%s: the deferral was not removed", name)
		}
	}
}
