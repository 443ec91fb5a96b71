// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

const (
	preDrain     = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
	preTerminate = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
)

func (f *fixture) stage() string {
	f.t.Helper()
	if d := f.machine().Status.Deletion; d != nil {
		return string(d.Stage)
	}
	return ""
}

// hasNode reports whether Node "n" exists.
func (f *fixture) hasNode() bool {
	f.t.Helper()
	nodes, err := f.workload.CoreV1().Nodes().List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return len(nodes.Items) > 0
}

// Behaviors MB115, MB117, MC17, MT16 of test/behaviours.
func TestDeletion_WaitsForPreDrainHooksBeforeTheDrain(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted, annotated(preDrain+"/b", "x"), annotated(preDrain+"/a", "")), newCluster(), provisionedInfra(), newNode())
	if got := f.reconcile(); got.RequeueAfter != 0 {
		t.Errorf("requeued after %s", got.RequeueAfter)
	}
	f.expect("Deleting", "True WaitingForPreDrainHook", "Waiting for pre-drain hooks to succeed (hooks: "+preDrain+"/a,"+preDrain+"/b)")
	if at := f.machine().Status.Deletion.WaitForPreDrainHookStartTime; at == nil || !at.Time.Equal(began) || f.stage() != "PreDrainHook" {
		t.Errorf("deletion %+v", f.machine().Status.Deletion)
	}
	f.now = f.now.Add(time.Minute)
	f.edit(func(m *machine) { delete(m.Annotations, preDrain+"/a") })
	f.reconcile()
	if at := f.machine().Status.Deletion.WaitForPreDrainHookStartTime; !at.Time.Equal(began) || f.drained > 0 {
		t.Errorf("start time %s, drained %d times", at, f.drained)
	}
	f.edit(func(m *machine) { m.Annotations = nil })
	if f.reconcile(); f.drained != 1 {
		t.Error("the drain did not start after the removal of the last hook")
	}
}

// Behaviors MB116, MC18, MT23 of test/behaviours.
func TestDeletion_AlwaysWaitsForPreTerminateHooks(t *testing.T) {
	for name, cluster := range map[string]*cluster{
		"drained Node":               newCluster(),
		"the Cluster is deleted too": newCluster(func(c *cluster) { c.DeletionTimestamp = pointer(metav1.NewTime(began)) }),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newMachine(running, deleted, annotated(preTerminate, "")), cluster, provisionedInfra(), newNode())
			if got := f.reconcile(); got.RequeueAfter != 0 {
				t.Errorf("requeued after %s", got.RequeueAfter)
			}
			f.expect("Deleting", "True WaitingForPreTerminateHook", "Waiting for pre-terminate hooks to succeed (hooks: "+preTerminate+")")
			if f.object("ExampleMachine", "i") == nil || f.machine().Status.Deletion.WaitForPreTerminateHookStartTime == nil {
				t.Error("the deletion did not wait for the hook")
			}
			f.edit(func(m *machine) { m.Annotations = nil })
			if f.reconcile(); f.object("ExampleMachine", "i") != nil {
				t.Error("the infrastructure still exists after the removal of the hook")
			}
		})
	}
}

// Attached disks would be deleted with the machine.
func TestDeletion_WaitsForVolumesWhileTheirStateIsUnknown(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	f.detachErr = errors.New("VolumeAttachments cannot be read")
	f.expectError("VolumeAttachments cannot be read")
	if f.stage() != "VolumeDetach" || f.object("ExampleMachine", "i") == nil {
		t.Errorf("stage %s, infrastructure exists: %t", f.stage(), f.object("ExampleMachine", "i") != nil)
	}
	f.expect("Deleting", "True WaitingForVolumeDetach", "Error waiting for volumes to be detached from Node n: VolumeAttachments cannot be read")
}

// Behaviors MB118, MD4 of test/behaviours: Cluster API treats an object that cannot be read as deleted. It then skips
// drain and detach, and waits forever with a pre-terminate hook.
func TestDeletion_WaitsWhileInfrastructureCannotBeRead(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted, annotated(preTerminate, "")), newCluster(), provisionedInfra(), newNode())
	f.unread["ExampleMachine"] = errors.New("the server is down")
	f.draining = drain.Result{Message: "not yet"}
	f.expectError("the server is down")
	if f.stage() != "Drain" || f.drained != 1 {
		t.Fatalf("stage %s, drained %d times", f.stage(), f.drained)
	}
	delete(f.unread, "ExampleMachine")
	f.now = f.now.Add(drain.Retry)
	f.reconcile()
	if f.stage() != "Drain" || f.drained != 2 {
		t.Fatalf("stage %s, drained %d times", f.stage(), f.drained)
	}
	f.now, f.draining, f.detaching = f.now.Add(drain.Retry), drain.Result{Done: true}, drain.Result{Message: "a disk"}
	f.reconcile()
	if f.stage() != "VolumeDetach" || f.detached != 1 {
		t.Fatalf("stage %s, detached %d times", f.stage(), f.detached)
	}
	f.edit(func(m *machine) { m.Annotations = nil })
	f.detaching = drain.Result{Done: true}
	f.unread["ExampleMachine"] = errors.New("the server is down")
	f.expectError("the server is down")
	f.expect("Deleting", "True InternalError", "Failed to delete ExampleMachine: the server is down")
	if f.stage() != "Infrastructure" || f.object("ExampleMachine", "i") == nil {
		t.Errorf("stage %s", f.stage())
	}
}

// Behaviors MB119, MB141, MT17, MT20, MT30-31 of test/behaviours.
func TestDeletion_SkipsUnneededDrainAndDetach(t *testing.T) {
	seconds := func(n int32) func(*machine) {
		return func(m *machine) {
			m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: &n, NodeVolumeDetachTimeoutSeconds: &n}
		}
	}
	since := func(d time.Duration) func(*machine) {
		at := pointer(metav1.NewTime(began.Add(-d)))
		return func(m *machine) {
			m.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{NodeDrainStartTime: at, WaitForNodeVolumeDetachStartTime: at}
		}
	}
	tests := map[string]struct {
		changes        []func(*machine)
		infra          runtime.Object
		drain, volumes bool
	}{
		"as usual":                     {infra: provisionedInfra(), drain: true, volumes: true},
		"excluded from drain":          {changes: []func(*machine){annotated(clusterv1alpha1.ExcludeNodeDrainingAnnotation, "")}, infra: provisionedInfra(), volumes: true},
		"excluded from detach":         {changes: []func(*machine){annotated(clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation, "")}, infra: provisionedInfra(), drain: true},
		"infrastructure deleted":       {},
		"infrastructure being deleted": {infra: markDeleting(provisionedInfra())},
		"waiting for a later hook": {changes: []func(*machine){func(m *machine) {
			m.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{Stage: "PreTerminateHook"}
		}}, infra: provisionedInfra()},
		"timeout expired":               {changes: []func(*machine){seconds(60), since(60 * time.Second)}, infra: provisionedInfra()},
		"in time":                       {changes: []func(*machine){seconds(60), since(59 * time.Second)}, infra: provisionedInfra(), drain: true, volumes: true},
		"0 means no timeout":            {changes: []func(*machine){seconds(0), since(time.Hour)}, infra: provisionedInfra(), drain: true, volumes: true},
		"timeout counts from the stage": {changes: []func(*machine){seconds(60)}, infra: provisionedInfra(), drain: true, volumes: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(append([]func(*machine){running, deleted}, test.changes...)...), newCluster(), newNode()}
			if test.infra != nil {
				objects = append(objects, test.infra)
			}
			f := newFixture(t, objects...)
			f.reconcile()
			if f.drained > 0 != test.drain || f.detached > 0 != test.volumes {
				t.Errorf("drained %d times, detached %d times", f.drained, f.detached)
			}
		})
	}
}

// Behaviors MB98, MB123, MC5, MC30, MT17-18 of test/behaviours.
func TestDeletion_ReportsALongDrainAndChecksItEveryTwentySeconds(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	const message = "Drain not completed yet (started at 2026-05-01T12:00:00Z):\n* Pod ns/a: waiting"
	f.draining = drain.Result{Message: message}
	if got := f.reconcile(); got.RequeueAfter != 20*time.Second {
		t.Errorf("requeued after %s", got.RequeueAfter)
	}
	f.expect("Deleting", "True DrainingNode", message)
	f.expect("Ready", "False NotReady", "* Deleting: Machine deletion in progress, stage: DrainingNode")
	f.now = f.now.Add(time.Second)
	if got := f.reconcile(); got.RequeueAfter != 19*time.Second || f.drained != 1 {
		t.Errorf("an event after 1 s: requeued after %s, drained %d times", got.RequeueAfter, f.drained)
	}
	f.edit(annotated(clusterv1alpha1.ExcludeNodeDrainingAnnotation, ""))
	if f.reconcile(); f.stage() == "Drain" {
		t.Error("a change of the Machine itself was ignored")
	}
}

// Behaviors MC31, MT14, MT19-22, MT24-27 of test/behaviours: each stage runs once, in the order of the table, with one
// event.
func TestDeletion_RunsAllStagesInOrder(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted, withConfig), newCluster(), provisionedInfra(), config(nil), newNode())
	finalize := true
	for _, kind := range []string{"examplemachines", "exampleconfigs"} {
		f.others.PrependReactor("delete", kind, func(a clienttesting.Action) (bool, runtime.Object, error) {
			name := a.(clienttesting.DeleteAction).GetName()
			of := map[string]string{"i": "ExampleMachine", "b": "ExampleConfig"}[name]
			if finalize {
				f.set(of, name, began.Format(time.RFC3339), "metadata", "deletionTimestamp")
			}
			return finalize, nil, nil
		})
	}
	f.detaching = drain.Result{Message: "a disk"}
	f.reconcile()
	f.expect("Deleting", "True WaitingForVolumeDetach", "a disk")
	f.now, f.detaching = f.now.Add(detach.Retry), drain.Result{Done: true}
	f.reconcile()
	f.expect("Deleting", "True WaitingForInfrastructureDeletion", "Waiting for ExampleMachine to be deleted")
	f.reconcile()
	f.remove("ExampleMachine", "i")
	f.reconcile()
	f.expect("Deleting", "True WaitingForBootstrapDeletion", "Waiting for ExampleConfig to be deleted")
	if !f.hasNode() {
		t.Error("the Node is deleted before the bootstrap object")
	}
	f.remove("ExampleConfig", "b")
	f.reconcile()
	if f.hasNode() || len(f.machine().Finalizers) != 0 {
		t.Errorf("Node exists: %t, finalizers %v", f.hasNode(), f.machine().Finalizers)
	}
	if diff := cmp.Diff([]string{"SuccessfulDrainNode", "NodeVolumesDetached"}, f.eventReasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if f.drained != 1 {
		t.Errorf("drained %d times", f.drained)
	}
}

// Behaviors MB20, MT24 of test/behaviours.
func TestDeletion_DeletesEachObjectOnceAndWaits(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	deletes := 0
	f.others.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		deletes++
		f.set("ExampleMachine", "i", began.Format(time.RFC3339), "metadata", "deletionTimestamp")
		return true, nil, nil
	})
	for range 3 {
		f.reconcile()
	}
	if deletes != 1 || f.stage() != "Infrastructure" {
		t.Errorf("deleted %d times, stage %s", deletes, f.stage())
	}
}

func TestDeletion_KeepsObjectsOfOtherControllers(t *testing.T) {
	o := provisionedInfra()
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "x", Controller: pointer(true)}})
	f := newFixture(t, newMachine(running, deleted), newCluster(), o, newNode())
	f.reconcile()
	if len(f.machine().Finalizers) != 0 || f.object("ExampleMachine", "i") == nil {
		t.Errorf("finalizers %v", f.machine().Finalizers)
	}
}

// Behaviors MB14 of test/behaviours.
func TestDeletion_KeepsOtherFinalizers(t *testing.T) {
	f := newFixture(t, newMachine(deleted, func(m *machine) { m.Finalizers = append(m.Finalizers, "other") }), newCluster())
	f.reconcile()
	if diff := cmp.Diff([]string{"other"}, f.machine().Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	f.expect("Deleting", "True DeletionCompleted", "Deletion completed")
	f.writes()
	f.reconcile()
	if n := f.writes(); n != 0 {
		t.Errorf("%d writes after its own finalizer was removed", n)
	}
}

// The drain needs the labels of Machine and Cluster to select rules.
func TestDeletion_PassesMachineClusterAndNodeToTheDrain(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(func(c *cluster) { c.Labels = map[string]string{"a": "b"} }), provisionedInfra(), newNode())
	var got drain.Input
	f.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
		got = in
		return drain.Result{Message: "no"}, nil
	}
	f.reconcile()
	if got.Node != "n" || got.ProviderID != providerID || got.Cluster["a"] != "b" || got.Machine[clusterv1alpha1.ClusterNameLabel] != "c" || !got.Started.Equal(began) {
		t.Errorf("input %+v", got)
	}
}
