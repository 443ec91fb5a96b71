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

func (l *live) says(kind, status, reason, message string) {
	l.t.Helper()
	c := conditions.Find(l.set().Status.Conditions, kind)
	if c == nil || string(c.Status) != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		l.t.Errorf("%s is %+v, want %s %s %q", kind, c, status, reason, message)
	}
}

func (l *live) counts(what string, replicas, ready, available int32) {
	l.t.Helper()
	st := l.set().Status
	got := [3]int32{ptr.Deref(st.Replicas, -1), ptr.Deref(st.ReadyReplicas, -1), ptr.Deref(st.AvailableReplicas, -1)}
	if want := [3]int32{replicas, ready, available}; got != want {
		l.t.Errorf("%s: replicas, ready and available are %v, want %v", what, got, want)
	}
}

func TestASetMakesItsMachinesWithWhatTheyReferTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(3))
		defer func() { l.stop() }()
		names := l.names()
		if len(names) != 3 {
			t.Fatalf("Machines are %v, want three", names)
		}
		for _, kind := range []string{"Infra", "Boot"} {
			if diff := cmp.Diff(names, l.objects(kind)); diff != "" {
				t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
			}
		}
		m := l.machines()[0]
		if ref := metav1.GetControllerOf(m); ref == nil || ref.UID != "ms" || ref.Kind != "MachineSet" || ref.APIVersion != "cluster.slipway.dev/v1alpha1" {
			t.Errorf("the Machine is controlled by %+v", ref)
		}
		want := clusterv1alpha1.ContractVersionedObjectReference{APIGroup: group, Kind: "Infra", Name: m.Name}
		if m.Spec.InfrastructureRef != want || m.Spec.Bootstrap.ConfigRef.Kind != "Boot" || m.Spec.Version != "v1.36.0" {
			t.Errorf("its spec is %+v", m.Spec)
		}
		labels := map[string]string{"app": "ms", clusterv1alpha1.ClusterNameLabel: "c", clusterv1alpha1.MachineSetNameLabel: "ms"}
		if diff := cmp.Diff(labels, m.Labels); diff != "" {
			t.Errorf("its labels (-want +got):\n%s", diff)
		}
		infra, err := l.world.Resource(resource("Infra")).Namespace("dev").Get(context.Background(), m.Name, metav1.GetOptions{})
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
		l.counts("made", 3, 0, 0)
		l.says("Reconciling", "True", "NotAvailable", "0 of 3 replicas are available")
		for _, m := range l.machines() {
			l.status(m, well)
		}
		l.after(time.Second)
		l.counts("well", 3, 3, 3)
		l.says(clusterv1alpha1.MachinesReadyCondition, "True", "Ready", "")
		l.says(clusterv1alpha1.ScalingUpCondition, "False", "NotScalingUp", "")
		if c := conditions.Find(l.set().Status.Conditions, "Reconciling"); c != nil {
			t.Errorf("Reconciling is %+v although all Machines are available", c)
		}
		l.writes()
		l.after(24 * time.Hour)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes in a day in which nothing happened: %v", writes)
		}
	})
}

// The server made it and the answer was lost: the informer may have it or not.
func TestALostAnswerMakesNoTwin(t *testing.T) {
	for _, what := range []string{"create machines", "create infras", "create boots"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := run(t, theSet(0))
				defer func() { l.stop() }()
				l.answer(what, errTimeout, true)
				l.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](2) })
				l.after(time.Minute)
				if n := len(l.names()); n != 2 {
					t.Errorf("there are %d Machines, want 2", n)
				}
				for _, kind := range []string{"Infra", "Boot"} {
					if diff := cmp.Diff(l.names(), l.objects(kind)); diff != "" {
						t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
					}
				}
			})
		})
	}
}

// The informer has heard of nothing.
func TestAPassSeesWhatThePassesBeforeHaveMadeAndDeleted(t *testing.T) {
	s := theSet(2)
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "c"}}
	l := serve(t, s)
	c := l.behind(s)
	l.answer("create machines", errTimeout, true)
	for range 5 {
		_, _ = c.reconcile.Reconcile(context.Background(), controller.KeyOf(s))
	}
	if n := len(l.names()); n != 2 {
		t.Fatalf("there are %d Machines, want 2", n)
	}
	all := l.machines()
	for _, m := range all {
		well(m)
	}
	s = l.set()
	s.Spec.Replicas = ptr.To[int32](1)
	c = l.behind(s, all...)
	for i := range 3 {
		if _, err := c.reconcile.Reconcile(context.Background(), controller.KeyOf(s)); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // Another one would go first now.
			sick := all[1].DeepCopy()
			says(clusterv1alpha1.MachineNodeHealthyCondition, metav1.ConditionFalse, "NodeNotHealthy")(sick)
			if err := l.cached.Update(sick); err != nil {
				t.Fatal(err)
			}
		}
	}
	going := 0
	for _, m := range l.machines() {
		if m.DeletionTimestamp != nil {
			going++
		}
	}
	if going != 1 {
		t.Errorf("%d Machines go, want 1", going)
	}
}

// The process ends between the Machine and what it refers to.
func TestTheNextProcessMakesWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(0))
		defer func() { l.stop() }()
		l.answer("create infras", errRefused, false)
		stop := l.stop
		l.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](2) })
		stop()
		l.stop = nil
		l.restart()
		l.after(time.Minute)
		if n := len(l.names()); n != 2 {
			t.Errorf("there are %d Machines, want 2", n)
		}
		for _, kind := range []string{"Infra", "Boot"} {
			if diff := cmp.Diff(l.names(), l.objects(kind)); diff != "" {
				t.Errorf("objects of kind %s (-want +got):\n%s", kind, diff)
			}
		}
	})
}

func TestWhatIsRefusedIsTriedAgainBeforeMoreIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(0))
		defer func() { l.stop() }()
		l.refuse("create infras", true)
		l.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](5) })
		l.after(time.Minute)
		if n := len(l.names()); n != 1 {
			t.Errorf("there are %d Machines while nothing can be made for the first, want 1", n)
		}
		l.says(clusterv1alpha1.ScalingUpCondition, "True", "ScalingUpBlocked", "is blocked because: creating Infra")
		l.refuse("create infras", false)
		l.after(10 * time.Minute)
		if n := len(l.names()); n != 5 {
			t.Errorf("there are %d Machines in the end, want 5", n)
		}
	})
}

func TestObjectsThatAreDeletedBeforeTheyAreAnythingAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(1))
		defer func() { l.stop() }()
		m := l.machines()[0]
		if err := l.world.Resource(resource("Infra")).Namespace("dev").Delete(context.Background(), m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.status(m, says(clusterv1alpha1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1alpha1.ObjectDoesNotExistReason))
		l.after(time.Second)
		if diff := cmp.Diff([]string{m.Name}, l.objects("Infra")); diff != "" {
			t.Errorf("infrastructure (-want +got):\n%s", diff)
		}
		if err := l.world.Resource(resource("Infra")).Namespace("dev").Delete(context.Background(), m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.status(m, func(m *machine) {
			m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		})
		l.after(time.Minute)
		if got := l.objects("Infra"); len(got) > 0 {
			t.Errorf("infrastructure %v of a Machine that had one was made again: it would be an empty twin", got)
		}
	})
}

func TestScaleDownTakesThoseThatGoFirstAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(5))
		defer func() { l.stop() }()
		all := l.machines()
		for _, m := range all {
			l.status(m, well)
		}
		l.status(all[3], says(clusterv1alpha1.ReadyCondition, metav1.ConditionFalse, "NotReady"))
		l.after(time.Second)
		l.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](3) })
		l.says(clusterv1alpha1.ScalingDownCondition, "True", "ScalingDown", "Scaling down from 5 to 3 replicas")
		// Another one ceases to be well, which would go before the second that goes already.
		l.status(all[4], says(clusterv1alpha1.MachineNodeHealthyCondition, metav1.ConditionFalse, "NodeNotHealthy"))
		l.after(time.Minute)
		var going []string
		for _, m := range l.machines() {
			if m.DeletionTimestamp != nil {
				going = append(going, m.Name)
			}
		}
		if diff := cmp.Diff([]string{all[0].Name, all[3].Name}, going); diff != "" {
			t.Errorf("Machines that go (-want +got):\n%s", diff)
		}
		for _, m := range l.machines() {
			if m.DeletionTimestamp != nil {
				l.gone(m)
			}
		}
		l.after(time.Second)
		l.counts("scaled down", 3, 3, 3)
		l.says(clusterv1alpha1.ScalingDownCondition, "False", "NotScalingDown", "")
	})
}

func TestManyMachinesAreMadeInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(3*burst))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if n := len(l.names()); n != 3*burst {
			t.Errorf("there are %d Machines, want %d", n, 3*burst)
		}
		updates := 0
		for _, what := range l.writes() {
			if what == "update machinesets/status" {
				updates++
			}
		}
		if updates > 10 {
			t.Errorf("the status was written %d times", updates)
		}
	})
}

func TestOrphansThatMatchAreTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphan := func(name, app, in string) *machine {
			m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
			m.Spec.ClusterName = in
			return m
		}
		foreign := orphan("foreign", "ms", "c")
		foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}}
		l := run(t, theSet(1), orphan("mine", "ms", "c"), orphan("other", "other", "c"), orphan("elsewhere", "ms", "d"), foreign)
		defer func() { l.stop() }()
		l.counts("taken over", 1, 0, 0)
		for _, m := range l.machines() {
			ref := metav1.GetControllerOf(m)
			if got := ref != nil && ref.UID == "ms"; got != (m.Name == "mine") {
				t.Errorf("Machine %s is controlled by %+v", m.Name, ref)
			}
		}
	})
}

func TestChangesInPlaceReachTheMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(2))
		defer func() { l.stop() }()
		all := l.machines()
		l.status(all[0], func(m *machine) { m.DeletionTimestamp = ptr.To(metav1.Now()) })
		l.edit(func(s *set) {
			s.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: map[string]string{"app": "ms", "tier": "web"}}
			s.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](30)
			s.Spec.Template.Spec.Version = "v1.37.0"
		})
		l.after(time.Minute)
		going, stays := l.machines()[0], l.machines()[1]
		for _, m := range []*machine{going, stays} {
			if ptr.Deref(m.Spec.Deletion.NodeDrainTimeoutSeconds, 0) != 30 || m.Spec.Version != "v1.36.0" {
				t.Errorf("Machine %s has drain timeout %v and version %s", m.Name, m.Spec.Deletion.NodeDrainTimeoutSeconds, m.Spec.Version)
			}
		}
		if stays.Labels["tier"] != "web" || going.Labels["tier"] != "" {
			t.Errorf("labels are %v and, of the one that goes, %v", stays.Labels, going.Labels)
		}
		if _, ok := stays.Annotations["note"]; ok {
			t.Errorf("an annotation that left the template stays: %v", stays.Annotations)
		}
	})
}

// MC16
func TestMachinesThatFailedTheirHealthCheckAreReplaced(t *testing.T) {
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) { replaced(t, i) })
	}
}

// replaced has the i-th of two Machines replaced, by one of another name.
func replaced(t *testing.T, i int) {
	l := run(t, theSet(2))
	defer func() { l.stop() }()
	for _, m := range l.machines() {
		l.status(m, well)
	}
	sick := l.machines()[i]
	l.status(sick, says(clusterv1alpha1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "UnhealthyNode"))
	l.after(time.Second)
	l.says(clusterv1alpha1.RemediatingCondition, "False", "NotRemediating", "not to be replaced")
	l.status(sick, says(clusterv1alpha1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, "WaitingForRemediation"))
	l.after(time.Second)
	now := l.machines()[i]
	c := conditions.Find(now.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
	if now.DeletionTimestamp == nil || c.Reason != clusterv1alpha1.RemediationMachineDeletingReason {
		t.Errorf("the Machine is deleted: %v, and says %+v", now.DeletionTimestamp, c)
	}
	if n := len(l.names()); n != 2 {
		t.Errorf("there are %d Machines while it goes, want 2", n)
	}
	l.gone(now)
	l.after(time.Second)
	if names := l.names(); len(names) != 2 || slices.Contains(names, sick.Name) {
		t.Errorf("Machines are %v, want two, without %s", names, sick.Name)
	}
}

func TestAPausedSetDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		l := run(t, s)
		defer func() { l.stop() }()
		l.says(clusterv1alpha1.PausedCondition, "True", "Paused", "annotation")
		if diff := cmp.Diff([]string{"update machinesets/status"}, l.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		l.edit(func(s *set) { s.Annotations = nil })
		if n := len(l.names()); n != 2 {
			t.Errorf("there are %d Machines, want 2", n)
		}
		l.says(clusterv1alpha1.PausedCondition, "False", "NotPaused", "")
	})
}

func TestPausedSet_ShowsThatItsDeletionIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		l := run(t, s)
		defer func() { l.stop() }()
		l.says(clusterv1alpha1.DeletingCondition, "True", "Paused", "The deletion is paused: MachineSet has the cluster.x-k8s.io/paused annotation")
	})
}

func TestASetThatIsBeingDeletedMakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := theSet(2)
		s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		l := run(t, s)
		defer func() { l.stop() }()
		if n := len(l.names()); n != 0 {
			t.Errorf("there are %d Machines", n)
		}
		l.says(clusterv1alpha1.DeletingCondition, "True", "Deleting", "0 Machines")
	})
}
