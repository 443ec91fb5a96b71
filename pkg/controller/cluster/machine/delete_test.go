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

func (w *world) stage() string {
	w.t.Helper()
	if d := w.machine().Status.Deletion; d != nil {
		return string(d.Stage)
	}
	return ""
}

// hasNode tells whether Node "n" is there.
func (w *world) hasNode() bool {
	w.t.Helper()
	nodes, err := w.workload.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(nodes.Items) > 0
}

// MB115, MB117, MC17, MT16
func TestPreDrainHooksHoldUpTheDrain(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted, annotated(preDrain+"/b", "x"), annotated(preDrain+"/a", "")), newCluster(), infraThere(), newNode())
	if got := w.pass(); got.RequeueAfter != 0 {
		t.Errorf("it is looked at again after %s", got.RequeueAfter)
	}
	w.expect("Deleting", "True WaitingForPreDrainHook", "Waiting for pre-drain hooks to succeed (hooks: "+preDrain+"/a,"+preDrain+"/b)")
	if at := w.machine().Status.Deletion.WaitForPreDrainHookStartTime; at == nil || !at.Time.Equal(began) || w.stage() != "PreDrainHook" {
		t.Errorf("deletion %+v", w.machine().Status.Deletion)
	}
	w.now = w.now.Add(time.Minute)
	w.edit(func(m *machine) { delete(m.Annotations, preDrain+"/a") })
	w.pass()
	if at := w.machine().Status.Deletion.WaitForPreDrainHookStartTime; !at.Time.Equal(began) || w.drained > 0 {
		t.Errorf("start time %s, drained %d times", at, w.drained)
	}
	w.edit(func(m *machine) { m.Annotations = nil })
	if w.pass(); w.drained != 1 {
		t.Error("the drain did not begin with the removal of the last hook")
	}
}

// MB116, MC18, MT23
func TestPreTerminateHooksHoldUpTheInfrastructureInAnyCase(t *testing.T) {
	for name, cluster := range map[string]*cluster{
		"Node looked after":        newCluster(),
		"the Cluster goes as well": newCluster(func(c *cluster) { c.DeletionTimestamp = pointer(metav1.NewTime(began)) }),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newMachine(running, deleted, annotated(preTerminate, "")), cluster, infraThere(), newNode())
			if got := w.pass(); got.RequeueAfter != 0 {
				t.Errorf("it is looked at again after %s", got.RequeueAfter)
			}
			w.expect("Deleting", "True WaitingForPreTerminateHook", "Waiting for pre-terminate hooks to succeed (hooks: "+preTerminate+")")
			if w.other("ExampleMachine", "i") == nil || w.machine().Status.Deletion.WaitForPreTerminateHookStartTime == nil {
				t.Error("the hook did not hold up the deletion")
			}
			w.edit(func(m *machine) { m.Annotations = nil })
			if w.pass(); w.other("ExampleMachine", "i") != nil {
				t.Error("the infrastructure stays after the removal of the hook")
			}
		})
	}
}

// Disks that are still attached would be deleted with the machine.
func TestWaitForVolumes_GoesOnWhileTheirStateIsUnknown(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(), infraThere(), newNode())
	w.detachErr = errors.New("VolumeAttachments cannot be read")
	w.failing("VolumeAttachments cannot be read")
	if w.stage() != "VolumeDetach" || w.other("ExampleMachine", "i") == nil {
		t.Errorf("stage %s, infrastructure there: %t", w.stage(), w.other("ExampleMachine", "i") != nil)
	}
	w.expect("Deleting", "True WaitingForVolumeDetach", "Error waiting for volumes to be detached from Node n: VolumeAttachments cannot be read")
}

// MB118, MD4: in Cluster API what cannot be read passes for gone, drain and
// detach are skipped, and with a pre-terminate hook for ever.
func TestInfrastructureThatCannotBeReadIsNotGone(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted, annotated(preTerminate, "")), newCluster(), infraThere(), newNode())
	w.unread["ExampleMachine"] = errors.New("the server is down")
	w.draining = drain.Result{Message: "not yet"}
	w.failing("the server is down")
	if w.stage() != "Drain" || w.drained != 1 {
		t.Fatalf("stage %s, drained %d times", w.stage(), w.drained)
	}
	delete(w.unread, "ExampleMachine")
	w.now = w.now.Add(drain.Retry)
	w.pass()
	if w.stage() != "Drain" || w.drained != 2 {
		t.Fatalf("stage %s, drained %d times", w.stage(), w.drained)
	}
	w.now, w.draining, w.detaching = w.now.Add(drain.Retry), drain.Result{Done: true}, drain.Result{Message: "a disk"}
	w.pass()
	if w.stage() != "VolumeDetach" || w.detached != 1 {
		t.Fatalf("stage %s, detached %d times", w.stage(), w.detached)
	}
	w.edit(func(m *machine) { m.Annotations = nil })
	w.detaching = drain.Result{Done: true}
	w.unread["ExampleMachine"] = errors.New("the server is down")
	w.failing("the server is down")
	w.expect("Deleting", "True InternalError", "Failed to delete ExampleMachine: the server is down")
	if w.stage() != "Infrastructure" || w.other("ExampleMachine", "i") == nil {
		t.Errorf("stage %s", w.stage())
	}
}

// MB119, MB141, MT17, MT20, MT30-31
func TestDrainAndDetachAreSkippedWhereThereIsNothingToBeGained(t *testing.T) {
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
		"as usual":                     {infra: infraThere(), drain: true, volumes: true},
		"excluded from drain":          {changes: []func(*machine){annotated(clusterv1alpha1.ExcludeNodeDrainingAnnotation, "")}, infra: infraThere(), volumes: true},
		"excluded from detach":         {changes: []func(*machine){annotated(clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation, "")}, infra: infraThere(), drain: true},
		"infrastructure gone":          {},
		"infrastructure being deleted": {infra: goes(infraThere())},
		"waiting for a later hook": {changes: []func(*machine){func(m *machine) {
			m.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{Stage: "PreTerminateHook"}
		}}, infra: infraThere()},
		"out of time":                    {changes: []func(*machine){seconds(60), since(60 * time.Second)}, infra: infraThere()},
		"in time":                        {changes: []func(*machine){seconds(60), since(59 * time.Second)}, infra: infraThere(), drain: true, volumes: true},
		"0 seconds are no limit":         {changes: []func(*machine){seconds(0), since(time.Hour)}, infra: infraThere(), drain: true, volumes: true},
		"time counts from its own start": {changes: []func(*machine){seconds(60)}, infra: infraThere(), drain: true, volumes: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(append([]func(*machine){running, deleted}, test.changes...)...), newCluster(), newNode()}
			if test.infra != nil {
				objects = append(objects, test.infra)
			}
			w := newWorld(t, objects...)
			w.pass()
			if w.drained > 0 != test.drain || w.detached > 0 != test.volumes {
				t.Errorf("drained %d times, detached %d times", w.drained, w.detached)
			}
		})
	}
}

// MB98, MB123, MC5, MC30, MT17-18
func TestADrainThatLastsIsToldAndLookedAtAfterTwentySeconds(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(), infraThere(), newNode())
	const message = "Drain not completed yet (started at 2026-05-01T12:00:00Z):\n* Pod ns/a: waiting"
	w.draining = drain.Result{Message: message}
	if got := w.pass(); got.RequeueAfter != 20*time.Second {
		t.Errorf("comes back after %s", got.RequeueAfter)
	}
	w.expect("Deleting", "True DrainingNode", message)
	w.expect("Ready", "False NotReady", "* Deleting: Machine deletion in progress, stage: DrainingNode")
	w.now = w.now.Add(time.Second)
	if got := w.pass(); got.RequeueAfter != 19*time.Second || w.drained != 1 {
		t.Errorf("an event after 1 s: comes back after %s, drained %d times", got.RequeueAfter, w.drained)
	}
	w.edit(annotated(clusterv1alpha1.ExcludeNodeDrainingAnnotation, ""))
	if w.pass(); w.stage() == "Drain" {
		t.Error("what is asked of the Machine itself waits for the drain")
	}
}

// MC31, MT14, MT19-22, MT24-27: each stage once, events once, in the order of the table.
func TestADeletionGoesThroughItsStages(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted, withConfig), newCluster(), infraThere(), config(nil), newNode())
	finalize := true
	for _, kind := range []string{"examplemachines", "exampleconfigs"} {
		w.others.PrependReactor("delete", kind, func(a clienttesting.Action) (bool, runtime.Object, error) {
			name := a.(clienttesting.DeleteAction).GetName()
			of := map[string]string{"i": "ExampleMachine", "b": "ExampleConfig"}[name]
			if finalize {
				w.set(of, name, began.Format(time.RFC3339), "metadata", "deletionTimestamp")
			}
			return finalize, nil, nil
		})
	}
	w.detaching = drain.Result{Message: "a disk"}
	w.pass()
	w.expect("Deleting", "True WaitingForVolumeDetach", "a disk")
	w.now, w.detaching = w.now.Add(detach.Retry), drain.Result{Done: true}
	w.pass()
	w.expect("Deleting", "True WaitingForInfrastructureDeletion", "Waiting for ExampleMachine to be deleted")
	w.pass()
	w.remove("ExampleMachine", "i")
	w.pass()
	w.expect("Deleting", "True WaitingForBootstrapDeletion", "Waiting for ExampleConfig to be deleted")
	if !w.hasNode() {
		t.Error("the Node is deleted before the bootstrap object")
	}
	w.remove("ExampleConfig", "b")
	w.pass()
	if w.hasNode() || len(w.machine().Finalizers) != 0 {
		t.Errorf("Node is there: %t, finalizers %v", w.hasNode(), w.machine().Finalizers)
	}
	if diff := cmp.Diff([]string{"SuccessfulDrainNode", "NodeVolumesDetached"}, w.happened()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if w.drained != 1 {
		t.Errorf("drained %d times", w.drained)
	}
}

// MB20, MT24
func TestEachDeletionIsAskedForOnceAndWaitedFor(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(), infraThere(), newNode())
	deletes := 0
	w.others.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		deletes++
		w.set("ExampleMachine", "i", began.Format(time.RFC3339), "metadata", "deletionTimestamp")
		return true, nil, nil
	})
	for range 3 {
		w.pass()
	}
	if deletes != 1 || w.stage() != "Infrastructure" {
		t.Errorf("deleted %d times, stage %s", deletes, w.stage())
	}
}

func TestWhatSomebodyElseControlsIsNotDeleted(t *testing.T) {
	o := infraThere()
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "x", Controller: pointer(true)}})
	w := newWorld(t, newMachine(running, deleted), newCluster(), o, newNode())
	w.pass()
	if len(w.machine().Finalizers) != 0 || w.other("ExampleMachine", "i") == nil {
		t.Errorf("finalizers %v", w.machine().Finalizers)
	}
}

// MB14
func TestTheFinalizerOfOthersIsLeft(t *testing.T) {
	w := newWorld(t, newMachine(deleted, func(m *machine) { m.Finalizers = append(m.Finalizers, "other") }), newCluster())
	w.pass()
	if diff := cmp.Diff([]string{"other"}, w.machine().Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	w.expect("Deleting", "True DeletionCompleted", "Deletion completed")
	w.writes()
	w.pass()
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes after its own finalizer was removed", n)
	}
}

// What the drain is given is what it needs to find its rules.
func TestADrainKnowsMachineClusterAndNode(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(func(c *cluster) { c.Labels = map[string]string{"a": "b"} }), infraThere(), newNode())
	var got drain.Input
	w.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
		got = in
		return drain.Result{Message: "no"}, nil
	}
	w.pass()
	if got.Node != "n" || got.ProviderID != providerID || got.Cluster["a"] != "b" || got.Machine[clusterv1alpha1.ClusterNameLabel] != "c" || !got.Started.Equal(began) {
		t.Errorf("input %+v", got)
	}
}
