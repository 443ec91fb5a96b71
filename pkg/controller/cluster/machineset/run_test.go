// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller"
)

func (f *fixture) expectCondition(conditionType, status, reason, message string) {
	f.t.Helper()
	c := conditions.Find(f.set().Status.Conditions, conditionType)
	if c == nil || string(c.Status) != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		f.t.Errorf("%s is %+v, want %s %s %q", conditionType, c, status, reason, message)
	}
}

func (f *fixture) counts(what string, replicas, ready, available int32) {
	f.t.Helper()
	st := f.set().Status
	got := [3]int32{ptr.Deref(st.Replicas, -1), ptr.Deref(st.ReadyReplicas, -1), ptr.Deref(st.AvailableReplicas, -1)}
	if want := [3]int32{replicas, ready, available}; got != want {
		f.t.Errorf("%s: replicas, ready and available are %v, want %v", what, got, want)
	}
}

func TestMachineSet_CreatesMachinesWithTheirObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(3))
		defer func() { f.stop() }()
		names := f.names()
		if len(names) != 3 {
			t.Fatalf("Machines are %v, want three", names)
		}
		for _, kind := range []string{"Infra", "Boot"} {
			if diff := cmp.Diff(names, f.objects(kind)); diff != "" {
				t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
			}
		}
		m := f.machines()[0]
		if ref := metav1.GetControllerOf(m); ref == nil || ref.UID != "ms" || ref.Kind != "MachineSet" || ref.APIVersion != "cluster.slipway.dev/v1alpha1" {
			t.Errorf("the Machine is controlled by %+v", ref)
		}
		want := clusterv1alpha1.ContractVersionedObjectReference{APIGroup: group, Kind: "Infra", Name: m.Name}
		if m.Spec.InfrastructureRef != want || m.Spec.Bootstrap.ConfigRef.Kind != "Boot" || m.Spec.Version != "v1.36.0" {
			t.Errorf("the spec of the Machine is %+v", m.Spec)
		}
		labels := map[string]string{"app": "ms", clusterv1alpha1.ClusterNameLabel: "c", clusterv1alpha1.MachineSetNameLabel: "ms"}
		if diff := cmp.Diff(labels, m.Labels); diff != "" {
			t.Errorf("labels of the Machine (-want +got):\n%s", diff)
		}
		infra, err := f.world.Resource(resource("Infra")).Namespace("dev").Get(context.Background(), m.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if ref := metav1.GetControllerOf(infra); ref == nil || ref.UID != m.UID || ref.Kind != "Machine" {
			t.Errorf("the infrastructure is controlled by %+v, want the Machine", ref)
		}
		if diff := cmp.Diff(labels, infra.GetLabels()); diff != "" {
			t.Errorf("labels of the infrastructure (-want +got):\n%s", diff)
		}
		if infra.GetAnnotations()["note"] != "x" || infra.GetAnnotations()["cluster.x-k8s.io/cloned-from-name"] != "small" {
			t.Errorf("annotations of the infrastructure are %v", infra.GetAnnotations())
		}
		f.counts("made", 3, 0, 0)
		f.expectCondition("Reconciling", "True", "NotAvailable", "0 of 3 replicas are available")
		for _, m := range f.machines() {
			f.status(m, setHealthy)
		}
		f.advance(time.Second)
		f.counts("well", 3, 3, 3)
		f.expectCondition(clusterv1alpha1.MachinesReadyCondition, "True", "Ready", "")
		f.expectCondition(clusterv1alpha1.ScalingUpCondition, "False", "NotScalingUp", "")
		if c := conditions.Find(f.set().Status.Conditions, "Reconciling"); c != nil {
			t.Errorf("Reconciling is %+v although all Machines are available", c)
		}
		f.writes()
		f.advance(24 * time.Hour)
		if writes := f.writes(); len(writes) > 0 {
			t.Errorf("writes in a day without changes: %v", writes)
		}
	})
}

// The server created the object but the response was lost. The informer may have received it or not.
func TestMachineSet_CreatesNoDuplicateAfterALostResponse(t *testing.T) {
	for _, what := range []string{"create machines", "create infras", "create boots"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := run(t, theSet(0))
				defer func() { f.stop() }()
				f.answer(what, errTimeout, true)
				f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](2) })
				f.advance(time.Minute)
				if n := len(f.names()); n != 2 {
					t.Errorf("there are %d Machines, want 2", n)
				}
				for _, kind := range []string{"Infra", "Boot"} {
					if diff := cmp.Diff(f.names(), f.objects(kind)); diff != "" {
						t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
					}
				}
			})
		})
	}
}

// The informer has received no events.
func TestMachineSet_SeesItsPreviousWrites(t *testing.T) {
	s := theSet(2)
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "c"}}
	f := serve(t, s)
	c := f.behind(s)
	f.answer("create machines", errTimeout, true)
	for range 5 {
		_, _ = c.reconcile.Reconcile(context.Background(), controller.KeyOf(s))
	}
	if n := len(f.names()); n != 2 {
		t.Fatalf("there are %d Machines, want 2", n)
	}
	all := f.machines()
	for _, m := range all {
		setHealthy(m)
	}
	s = f.set()
	s.Spec.Replicas = ptr.To[int32](1)
	c = f.behind(s, all...)
	for i := range 3 {
		if _, err := c.reconcile.Reconcile(context.Background(), controller.KeyOf(s)); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // Now another one would be deleted first.
			sick := all[1].DeepCopy()
			withCondition(clusterv1alpha1.MachineNodeHealthyCondition, metav1.ConditionFalse, "NodeNotHealthy")(sick)
			if err := f.cached.Update(sick); err != nil {
				t.Fatal(err)
			}
		}
	}
	deleting := 0
	for _, m := range f.machines() {
		if m.DeletionTimestamp != nil {
			deleting++
		}
	}
	if deleting != 1 {
		t.Errorf("%d Machines are being deleted, want 1", deleting)
	}
}

// The process ends after creating the Machine and before creating its objects.
func TestMachineSet_CreatesMissingObjectsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(0))
		defer func() { f.stop() }()
		f.answer("create infras", errRefused, false)
		stop := f.stop
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](2) })
		stop()
		f.stop = nil
		f.restart()
		f.advance(time.Minute)
		if n := len(f.names()); n != 2 {
			t.Errorf("there are %d Machines, want 2", n)
		}
		for _, kind := range []string{"Infra", "Boot"} {
			if diff := cmp.Diff(f.names(), f.objects(kind)); diff != "" {
				t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
			}
		}
	})
}

func TestMachineSet_RetriesRejectedObjectsBeforeCreatingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(0))
		defer func() { f.stop() }()
		f.refuse("create infras", true)
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](5) })
		f.advance(time.Minute)
		if n := len(f.names()); n != 1 {
			t.Errorf("there are %d Machines while the objects of the first are rejected, want 1", n)
		}
		f.expectCondition(clusterv1alpha1.ScalingUpCondition, "True", "ScalingUpBlocked", "is blocked because: creating Infra")
		f.refuse("create infras", false)
		f.advance(10 * time.Minute)
		if n := len(f.names()); n != 5 {
			t.Errorf("there are %d Machines finally, want 5", n)
		}
	})
}

func TestMachineSet_RecreatesDeletedObjectsBeforeProvisioning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(1))
		defer func() { f.stop() }()
		m := f.machines()[0]
		if err := f.world.Resource(resource("Infra")).Namespace("dev").Delete(context.Background(), m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.status(m, withCondition(clusterv1alpha1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1alpha1.ObjectDoesNotExistReason))
		f.advance(time.Second)
		if diff := cmp.Diff([]string{m.Name}, f.objects("Infra")); diff != "" {
			t.Errorf("infrastructure (-want +got):\n%s", diff)
		}
		if err := f.world.Resource(resource("Infra")).Namespace("dev").Delete(context.Background(), m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.status(m, func(m *machine) {
			m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		})
		f.advance(time.Minute)
		if got := f.objects("Infra"); len(got) > 0 {
			t.Errorf("infrastructure %v of a provisioned Machine was recreated", got)
		}
	})
}

func TestMachineSet_ScalesDownInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(5))
		defer func() { f.stop() }()
		all := f.machines()
		for _, m := range all {
			f.status(m, setHealthy)
		}
		f.status(all[3], withCondition(clusterv1alpha1.ReadyCondition, metav1.ConditionFalse, "NotReady"))
		f.advance(time.Second)
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](3) })
		f.expectCondition(clusterv1alpha1.ScalingDownCondition, "True", "ScalingDown", "Scaling down from 5 to 3 replicas")
		// Another Machine becomes unhealthy. It would be deleted before the second one that is already being deleted.
		f.status(all[4], withCondition(clusterv1alpha1.MachineNodeHealthyCondition, metav1.ConditionFalse, "NodeNotHealthy"))
		f.advance(time.Minute)
		var deleting []string
		for _, m := range f.machines() {
			if m.DeletionTimestamp != nil {
				deleting = append(deleting, m.Name)
			}
		}
		if diff := cmp.Diff([]string{all[0].Name, all[3].Name}, deleting); diff != "" {
			t.Errorf("deleted Machines (-want +got):\n%s", diff)
		}
		for _, m := range f.machines() {
			if m.DeletionTimestamp != nil {
				f.removeMachine(m)
			}
		}
		f.advance(time.Second)
		f.counts("scaled down", 3, 3, 3)
		f.expectCondition(clusterv1alpha1.ScalingDownCondition, "False", "NotScalingDown", "")
	})
}

func TestMachineSet_CreatesManyMachinesInBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(3*burst))
		defer func() { f.stop() }()
		f.advance(time.Minute)
		if n := len(f.names()); n != 3*burst {
			t.Errorf("there are %d Machines, want %d", n, 3*burst)
		}
		updates := 0
		for _, what := range f.writes() {
			if what == "update machinesets/status" {
				updates++
			}
		}
		if updates > 10 {
			t.Errorf("the status was written %d times", updates)
		}
	})
}

func TestMachineSet_AdoptsMatchingOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphan := func(name, app, in string) *machine {
			m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
			m.Spec.ClusterName = in
			return m
		}
		foreign := orphan("foreign", "ms", "c")
		foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}}
		f := run(t, theSet(1), orphan("mine", "ms", "c"), orphan("other", "other", "c"), orphan("elsewhere", "ms", "d"), foreign)
		defer func() { f.stop() }()
		f.counts("adopted", 1, 0, 0)
		for _, m := range f.machines() {
			ref := metav1.GetControllerOf(m)
			if got := ref != nil && ref.UID == "ms"; got != (m.Name == "mine") {
				t.Errorf("Machine %s is controlled by %+v", m.Name, ref)
			}
		}
	})
}

func TestMachineSet_UpdatesMachinesInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(2))
		defer func() { f.stop() }()
		all := f.machines()
		f.status(all[0], func(m *machine) { m.DeletionTimestamp = ptr.To(metav1.Now()) })
		f.edit(func(s *set) {
			s.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: map[string]string{"app": "ms", "tier": "web"}}
			s.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](30)
			s.Spec.Template.Spec.Version = "v1.37.0"
		})
		f.advance(time.Minute)
		deleting, stays := f.machines()[0], f.machines()[1]
		for _, m := range []*machine{deleting, stays} {
			if ptr.Deref(m.Spec.Deletion.NodeDrainTimeoutSeconds, 0) != 30 || m.Spec.Version != "v1.36.0" {
				t.Errorf("Machine %s has drain timeout %v and version %s", m.Name, m.Spec.Deletion.NodeDrainTimeoutSeconds, m.Spec.Version)
			}
		}
		if stays.Labels["tier"] != "web" || deleting.Labels["tier"] != "" {
			t.Errorf("labels are %v and, of the deleted Machine, %v", stays.Labels, deleting.Labels)
		}
		if _, ok := stays.Annotations["note"]; ok {
			t.Errorf("an annotation that was removed from the template remains: %v", stays.Annotations)
		}
	})
}

// Behaviors MC16 of test/behaviours.
func TestMachineSet_ReplacesUnhealthyMachines(t *testing.T) {
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) { replaced(t, i) })
	}
}

// replaced checks that the i-th of two Machines is replaced by one with another name.
func replaced(t *testing.T, i int) {
	f := run(t, theSet(2))
	defer func() { f.stop() }()
	for _, m := range f.machines() {
		f.status(m, setHealthy)
	}
	sick := f.machines()[i]
	f.status(sick, withCondition(clusterv1alpha1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "UnhealthyNode"))
	f.advance(time.Second)
	f.expectCondition(clusterv1alpha1.RemediatingCondition, "False", "NotRemediating", "the owner does not replace")
	f.status(sick, withCondition(clusterv1alpha1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, "WaitingForRemediation"))
	f.advance(time.Second)
	now := f.machines()[i]
	c := conditions.Find(now.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
	if now.DeletionTimestamp == nil || c.Reason != clusterv1alpha1.RemediationMachineDeletingReason {
		t.Errorf("deletion timestamp %v, condition %+v", now.DeletionTimestamp, c)
	}
	if n := len(f.names()); n != 2 {
		t.Errorf("there are %d Machines during the deletion, want 2", n)
	}
	f.removeMachine(now)
	f.advance(time.Second)
	if names := f.names(); len(names) != 2 || slices.Contains(names, sick.Name) {
		t.Errorf("Machines are %v, want two, without %s", names, sick.Name)
	}
}

func TestPausedSet_DoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		f := run(t, s)
		defer func() { f.stop() }()
		f.expectCondition(clusterv1alpha1.PausedCondition, "True", "Paused", "annotation")
		if diff := cmp.Diff([]string{"update machinesets/status"}, f.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		f.edit(func(s *set) { s.Annotations = nil })
		if n := len(f.names()); n != 2 {
			t.Errorf("there are %d Machines, want 2", n)
		}
		f.expectCondition(clusterv1alpha1.PausedCondition, "False", "NotPaused", "")
	})
}

func TestPausedSet_ReportsThatItsDeletionIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		f := run(t, s)
		defer func() { f.stop() }()
		f.expectCondition(clusterv1alpha1.DeletingCondition, "True", "Paused", "The deletion is paused: MachineSet has the cluster.x-k8s.io/paused annotation")
	})
}

func TestMachineSet_CreatesNothingWhileItIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		f := run(t, s)
		defer func() { f.stop() }()
		if n := len(f.names()); n != 0 {
			t.Errorf("there are %d Machines", n)
		}
		f.expectCondition(clusterv1alpha1.DeletingCondition, "True", "Deleting", "0 Machines")
	})
}
