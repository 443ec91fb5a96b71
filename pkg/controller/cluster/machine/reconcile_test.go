// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// Behaviors MB1, MT1 of test/behaviours.
func TestReconcile_IgnoresDeletedMachines(t *testing.T) {
	f := newFixture(t)
	if result := f.reconcile(); result != (controller.Result{}) || f.writes() != 0 {
		t.Errorf("result %+v", result)
	}
}

// Behaviors MB2-3, MT2 of test/behaviours.
func TestReconcile_AddsTheFinalizerFirst(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Finalizers = []string{"other"} }), newCluster(), infra())
	f.reconcile()
	if diff := cmp.Diff([]string{"other", clusterv1alpha1.MachineFinalizer}, f.machine().Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if f.writes() != 1 || f.object("ExampleMachine", "i").GetOwnerReferences() != nil {
		t.Error("the reconcile continued")
	}
}

// Behaviors MB4-7, MT4 of test/behaviours.
func TestReconcile_AddsTheClusterAsOwnerOfStandaloneMachines(t *testing.T) {
	controlled := func(m *machine) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Other", Name: "o", UID: "o", Controller: pointer(true)}}
	}
	ofBefore := func(m *machine) { // As after a restore: the garbage collector deletes objects whose only owner does not exist.
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "before"}}
	}
	label := func(key string) func(*machine) { return func(m *machine) { m.Labels[key] = "x" } }
	tests := map[string]struct {
		change func(*machine)
		want   bool
	}{
		"standalone":                 {func(*machine) {}, true},
		"of a previous Cluster":      {ofBefore, true},
		"controlled":                 {controlled, false},
		"created by a set":           {label(clusterv1alpha1.MachineSetNameLabel), false},
		"created by a pool":          {label(clusterv1alpha1.MachinePoolNameLabel), false},
		"created by a control plane": {label(clusterv1alpha1.MachineControlPlaneNameLabel), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newMachine(test.change), newCluster(), infra())
			f.reconcile()
			want := metav1.OwnerReference{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "uid-c"}
			if got := slices.Contains(f.machine().OwnerReferences, want); got != test.want {
				t.Errorf("owners %+v", f.machine().OwnerReferences)
			}
		})
	}
}

// MB5
func TestReconcile_KeepsTheMachineSetAsOwner(t *testing.T) {
	f := newFixture(t, ownedMachine(), newCluster(), infra(), newSet(), newDeployment())
	f.reconcile()
	if owners := f.machine().OwnerReferences; len(owners) != 1 || owners[0].Kind != "MachineSet" {
		t.Errorf("owners %+v", owners)
	}
}

// MB8
func TestReconcile_SetsTheClusterLabel(t *testing.T) {
	for name, labels := range map[string]map[string]string{"none": nil, "wrong": {clusterv1alpha1.ClusterNameLabel: "other"}} {
		f := newFixture(t, newMachine(func(m *machine) { m.Labels = labels }), newCluster(), infra())
		f.reconcile()
		if got := f.machine().Labels[clusterv1alpha1.ClusterNameLabel]; got != "c" {
			t.Errorf("%s: label %q", name, got)
		}
	}
}

// MB9
func TestReconcile_AcceptsAMinimalMachine(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), infra())
	f.reconcile()
	f.reconcile()
	f.edit(deleted)
	f.reconcile()
}

// Behaviors MB10 of test/behaviours.
func TestReconcile_WaitsForTheCluster(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Finalizers, m.Generation, m.Status.ObservedGeneration = nil, 3, -1 }), infra())
	f.reconcile()
	f.expect("Ready", "Unknown WaitingForCluster", "the Cluster ns/c does not exist")
	if got := f.machine().Status.ObservedGeneration; got != 3 {
		t.Errorf("observed generation %d, want 3", got)
	}
	if len(f.machine().Finalizers) != 0 || f.object("ExampleMachine", "i").GetOwnerReferences() != nil {
		t.Error("the reconcile continued")
	}
	f.writes()
	f.reconcile()
	if n := f.writes(); n != 0 {
		t.Errorf("%d writes without changes", n)
	}
}

// MD5: the Cluster may be deleted before the Machine.
func TestReconcile_DeletesMachinesWithoutCluster(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), provisionedInfra(), newNode())
	f.reconcile()
	f.reconcile()
	if len(f.machine().Finalizers) != 0 || f.object("ExampleMachine", "i") != nil {
		t.Errorf("deletion status %+v", f.machine().Status.Deletion)
	}
	if _, err := f.workload.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err != nil {
		t.Errorf("the Node of a Machine without Cluster was changed: %v", err)
	}
}

// Behaviors MB11, MC10 of test/behaviours.
func TestReconcile_SetsPausedInTheFirstReconcile(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), infra())
	f.reconcile()
	f.expect("Paused", "False NotPaused", "")
}

// Behaviors MB12, MT3 of test/behaviours.
func TestReconcile_IgnoresPausedMachines(t *testing.T) {
	byCluster := func(c *cluster) { c.Spec.Paused = pointer(true) }
	tests := map[string]struct {
		machine []func(*machine)
		cluster []func(*cluster)
		message string
		// deleting is the Deleting condition, and phase the phase of the Machine.
		deleting, phase string
	}{
		"by the Cluster": {cluster: []func(*cluster){byCluster}, message: "Cluster spec.paused is set to true"},
		"by annotation":  {machine: []func(*machine){annotated(clusterv1alpha1.PausedAnnotation, "")}, message: "Machine has the cluster.x-k8s.io/paused annotation"},
		"by both": {
			machine: []func(*machine){annotated(clusterv1alpha1.PausedAnnotation, "false")}, cluster: []func(*cluster){byCluster},
			message: "Cluster spec.paused is set to true, Machine has the cluster.x-k8s.io/paused annotation",
		},
		"while it is deleted": {
			machine: []func(*machine){running, deleted}, cluster: []func(*cluster){byCluster}, message: "Cluster spec.paused is set to true",
			deleting: "True Paused The deletion is paused: Cluster spec.paused is set to true", phase: "Deleting",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newMachine(test.machine...), newCluster(test.cluster...), provisionedInfra(), newNode())
			f.reconcile()
			f.expect("Paused", "True Paused", test.message)
			is, message := f.condition("Deleting")
			if got := strings.TrimSpace(is + " " + message); got != test.deleting || string(f.machine().Status.Phase) != test.phase {
				t.Errorf("Deleting is %q in phase %q, want %q in %q", got, f.machine().Status.Phase, test.deleting, test.phase)
			}
			if o := f.object("ExampleMachine", "i"); o == nil || o.GetOwnerReferences() != nil || f.machine().Status.Deletion != nil {
				t.Error("the reconcile continued")
			}
			f.writes()
			f.reconcile()
			if n := f.writes(); n != 0 {
				t.Errorf("%d writes without changes", n)
			}
		})
	}
}

// Behaviors MB13, MC20, MD1 of test/behaviours: in Cluster API standalone Machines notice a pause only at the next
// resync.
func TestClusterHandler_QueuesMachinesWhenTheClusterIsPausedOrResumed(t *testing.T) {
	f := newFixture(t, newMachine(), newMachine(named("n2")), newMachine(named("elsewhere"), func(m *machine) { m.Spec.ClusterName = "other" }), newCluster())
	paused := newCluster(func(c *cluster) { c.Spec.Paused = pointer(true) })
	for _, change := range [][2]*cluster{{newCluster(), paused}, {paused, newCluster()}} {
		updates(f.c.clusterHandler(), change[0], change[1])
		if diff := cmp.Diff([]string{"m", "n2"}, f.queued()); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
	}
	updates(f.c.clusterHandler(), newCluster(), newCluster(func(c *cluster) { c.Status.Phase = clusterv1alpha1.ClusterPhaseProvisioned }))
	if got := f.queued(); len(got) != 0 {
		t.Errorf("queued %v for an irrelevant change", got)
	}
}

// queued returns the names in the queue and empties it.
func (f *fixture) queued() []string {
	var names []string
	for f.c.Keys.Len() > 0 {
		key, _ := f.c.Keys.Get()
		f.c.Keys.Done(key)
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return names
}

// Behaviors MB15 of test/behaviours.
func TestReconcile_DoesNotObserveTheGenerationAfterAnError(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Generation = 7 }), newCluster())
	f.unread["ExampleMachine"] = contract.ErrUnreadable
	f.expectError("could not be read")
	if got := f.machine().Status.ObservedGeneration; got != 0 {
		t.Errorf("observed generation %d", got)
	}
	delete(f.unread, "ExampleMachine")
	f.reconcile()
	if got := f.machine().Status.ObservedGeneration; got != 7 {
		t.Errorf("observed generation %d", got)
	}
}

// A change of the spec increases the generation, and the status must refer to the new one.
func TestPersist_ObservesTheWrittenGeneration(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Generation = 7 }), newCluster(), provisionedInfra())
	f.api.PrependReactor("update", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() == "" {
			a.(clienttesting.UpdateAction).GetObject().(*machine).Generation++
		}
		return false, nil, nil
	})
	f.reconcile()
	m := f.machine()
	if m.Spec.ProviderID != providerID || m.Generation != 8 {
		t.Fatalf("provider ID %q, generation %d: the spec was not written", m.Spec.ProviderID, m.Generation)
	}
	if got := m.Status.ObservedGeneration; got != 8 {
		t.Errorf("observed generation %d, want 8", got)
	}
}

// Behaviors MB16 of test/behaviours.
func TestPersist_DoesNotOverwriteConcurrentWrites(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), infra())
	refuse := true
	f.api.PrependReactor("update", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if refuse && a.GetSubresource() == "status" {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "m", fmt.Errorf("changed"))
		}
		return false, nil, nil
	})
	if result := f.reconcile(); result.RequeueAfter != controller.Conflict {
		t.Errorf("result %+v", result)
	}
	f.edit(func(m *machine) {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.MachineHealthCheckSucceededCondition, Status: "True", Reason: "x"})
	})
	refuse = false
	f.reconcile()
	f.expect("HealthCheckSucceeded", "True x", "")
	if is, _ := f.condition("Ready"); is == "" {
		t.Error("the reconcile after the conflict wrote nothing")
	}
}

// Behaviors MB17 of test/behaviours.
func TestReconcile_RunsAllStepsAndJoinsTheirErrors(t *testing.T) {
	f := newFixture(t, newMachine(withConfig, ofControlPlane, annotated(clusterv1alpha1.MachineCertificatesExpiryDateAnnotation, "soon")), newCluster())
	f.unread["ExampleMachine"], f.unread["ExampleConfig"] = contract.ErrUnreadable, contract.ErrKindUnknown
	_, err := f.tryReconcile()
	for _, part := range []string{"bootstrap: unknown kind", "infrastructure: could not be read", "is \"soon\", which is not an RFC 3339 time"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	f.expect("InfrastructureReady", "Unknown InternalError", "cannot read ExampleMachine: "+contract.ErrUnreadable.Error())
	f.expect("BootstrapConfigReady", "Unknown InternalError", "cannot read ExampleConfig: "+contract.ErrKindUnknown.Error())
}

func TestReconcile_WritesNothingWithoutChanges(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra(), newNode())
	for range 3 {
		f.reconcile()
	}
	f.writes()
	f.now = f.now.Add(600e9)
	f.others.ClearActions()
	f.reconcile()
	if n := f.writes(); n != 0 {
		t.Errorf("%d writes of the Machine", n)
	}
	for _, a := range f.others.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s of the infrastructure", a.GetVerb())
		}
	}
}

func TestReconcile_WritesAMachineFiveTimesUntilItHasANode(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), infra())
	f.reconcile()
	f.set("ExampleMachine", "i", providerID, "spec", "providerID")
	f.set("ExampleMachine", "i", true, "status", "initialization", "provisioned")
	f.reconcile()
	f.add(newNode())
	f.reconcile()
	if m := f.machine(); m.Status.NodeRef.Name != "n" || m.Status.Phase != clusterv1alpha1.MachinePhaseRunning {
		t.Fatalf("status %+v", m.Status)
	}
	if n := f.writes(); n > 5 {
		t.Errorf("%d writes", n)
	}
}

// A rejected spec is an error, but the status is still written.
func TestPersist_WritesTheStatusIfTheSpecIsRejected(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra())
	f.api.PrependReactor("update", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() == "" {
			return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Machine"}, "m", nil)
		}
		return false, nil, nil
	})
	f.expectError("invalid")
	if conditions.Find(f.machine().Status.Conditions, "InfrastructureReady") == nil {
		t.Error("no status was written")
	}
}

// Messages of the infrastructure object are mirrored only when they change.
func TestPersistStatus_WritesEachReasonOfTheInfrastructureOnce(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), other("ExampleMachine", "i", map[string]any{"status": map[string]any{}}))
	f.reconcile()
	f.writes()
	for _, reason := range []string{"First", "Second"} {
		f.set("ExampleMachine", "i", []any{map[string]any{"type": "Ready", "status": "False", "reason": reason}}, "status", "conditions")
		for range 3 {
			f.now = f.now.Add(time.Second)
			f.reconcile()
		}
		f.expect("InfrastructureReady", "False "+reason, "")
		if n := f.writes(); n != 1 {
			t.Errorf("%d writes of reason %s, want 1", n, reason)
		}
	}
}
