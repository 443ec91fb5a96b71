// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/test/livecontroller"
)

// live is the whole controller over a fake server, on a clock of its own.
type live struct {
	t   *testing.T
	api *fake.Clientset

	mu sync.Mutex
	// calls are the writes, as verb and resource; lost has one answered with a timeout after it
	// was done.
	calls []string
	lost  string
}

// run starts the controller on objects and a Cluster. synctest must be on.
func run(t *testing.T, objects ...runtime.Object) *live {
	t.Helper()
	in := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c"}}
	l := &live{t: t, api: fake.NewSimpleClientset(append(objects, in)...)}
	versions := livecontroller.Versions{}
	answer := func(action clienttesting.Action) (bool, runtime.Object, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		what := livecontroller.Call(action)
		l.calls = append(l.calls, what)
		create, ok := action.(clienttesting.CreateAction)
		if !ok {
			return false, nil, nil
		}
		versions.Stamp(action)
		if l.lost == what {
			l.lost = ""
			if err := l.api.Tracker().Create(action.GetResource(), create.GetObject(), action.GetNamespace()); err != nil {
				t.Error(err)
			}
			return true, nil, apierrors.NewTimeoutError("the answer was lost", 1)
		}
		return false, nil, nil
	}
	for _, verb := range []string{"create", "update", "delete"} {
		l.api.PrependReactor(verb, "*", answer)
	}
	informers := externalversions.NewSharedInformerFactory(l.api, 0)
	c, err := New(Deps{Client: l.api, Informers: informers, Recorder: events.NewFakeRecorder(1000)})
	if err != nil {
		t.Fatal(err)
	}
	livecontroller.Start(t, c.Run, informers)
	return l
}

func (l *live) after(d time.Duration) {
	livecontroller.After(d)
}

func (l *live) writes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.calls
	l.calls = nil
	return out
}

func (l *live) deployment() *deployment {
	l.t.Helper()
	d, err := l.api.ClusterV1alpha1().MachineDeployments("dev").Get(context.Background(), "md", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

func (l *live) sets() []set {
	l.t.Helper()
	list, err := l.api.ClusterV1alpha1().MachineSets("dev").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// edit changes the deployment as a user does, and lets the controller see it.
func (l *live) edit(change func(*deployment)) {
	l.t.Helper()
	d := l.deployment()
	change(d)
	d.Generation++
	if _, err := l.api.ClusterV1alpha1().MachineDeployments("dev").Update(context.Background(), d, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.after(time.Second)
}

// fill gives every set the Machines that it wants, available.
func (l *live) fill() {
	l.t.Helper()
	for _, s := range l.sets() {
		for i := range *s.Spec.Replicas {
			m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: fmt.Sprintf("%s-%d", s.Name, i), Labels: s.Spec.Template.Metadata.Labels}}
			m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&s, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
			m.Spec.ClusterName = "c"
			(&world{}).well(m, true)
			conditions.Set(&m.Status.Conditions, time.Now(), metav1.Condition{Type: clusterv1alpha1.MachineUpToDateCondition, Status: metav1.ConditionTrue, Reason: "UpToDate"})
			_, err := l.api.ClusterV1alpha1().Machines("dev").Create(context.Background(), m, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				l.t.Fatal(err)
			}
			synctest.Wait() // The fake's watch is narrow.
		}
	}
	l.after(time.Second)
}

func (l *live) says(kind, want string) {
	l.t.Helper()
	got := ""
	if c := conditions.Find(l.deployment().Status.Conditions, kind); c != nil {
		got = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
	}
	if got != want {
		l.t.Errorf("%s is %q, want %q", kind, got, want)
	}
}

func simple(t *testing.T) *deployment {
	d := newWorld(t, 2, count(1), count(0)).d
	d.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: "c"}
	return d
}

func TestADeploymentIsToldAsItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, simple(t))
		if diff := cmp.Diff([]string{"create machinesets", "update machinedeployments", "update machinedeployments/status"}, l.writes()); diff != "" {
			t.Errorf("writes of a new deployment (-want +got):\n%s", diff)
		}
		l.says(clusterv1alpha1.AvailableCondition, "False NotAvailable 0 available replicas, at least 2 required")
		l.says(clusterv1alpha1.ScalingUpCondition, "True ScalingUp Scaling up from 0 to 2 replicas")
		l.says("Reconciling", "True ScalingUp Scaling up from 0 to 2 replicas")
		if phase := l.deployment().Status.Phase; phase != clusterv1alpha1.MachineDeploymentPhaseScalingUp {
			t.Errorf("phase is %s", phase)
		}
		l.fill()
		l.says(clusterv1alpha1.AvailableCondition, "True Available")
		l.says(clusterv1alpha1.ScalingUpCondition, "False NotScalingUp")
		l.says(clusterv1alpha1.MachinesReadyCondition, "True Ready")
		l.says("Reconciling", "")
		d := l.deployment()
		if d.Status.Phase != clusterv1alpha1.MachineDeploymentPhaseRunning || *d.Status.AvailableReplicas != 2 || d.Status.Selector != "app=md" || d.Status.ObservedGeneration != 1 {
			t.Errorf("status is %+v", d.Status)
		}
		if d.Annotations[clusterv1alpha1.RevisionAnnotation] != "1" || len(d.OwnerReferences) != 1 {
			t.Errorf("metadata is %+v", d.ObjectMeta)
		}
		l.writes()
		l.after(24 * time.Hour)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes in a day in which nothing happened: %v", writes)
		}
		l.edit(func(d *deployment) { d.Spec.Template.Spec.Version = "v2" })
		l.says(clusterv1alpha1.RollingOutCondition, "True RollingOut Rolling out 2 not up-to-date replicas: Version v1, v2 required")
		l.says("Reconciling", "True RollingOut Rolling out 2 not up-to-date replicas: Version v1, v2 required")
		if n := len(l.sets()); n != 2 {
			t.Errorf("there are %d sets, want 2", n)
		}
		if n := *l.deployment().Status.UpToDateReplicas; n != 0 {
			t.Errorf("%d Machines count as up to date, which have the template of before", n)
		}
	})
}

func TestDeployment_ShowsWhyItsSetIsBlocked(t *testing.T) {
	for reason, tc := range map[string]struct {
		message string
		blocked bool
	}{
		clusterv1alpha1.WaitingForTemplateReason: {"Scaling up from 0 to 1 replicas is blocked because: InfraTemplate large does not exist", true},
		clusterv1alpha1.ScalingUpBlockedReason:   {"Scaling up from 0 to 1 replicas: no quota", true},
		clusterv1alpha1.ScalingUpReason:          {"Scaling up from 0 to 1 replicas: Machines named blocked are created", false},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := run(t, simple(t))
				// shown is the reason and the end of the message of the deployment after its set of a version got the condition.
				shown := func(version, otherwise string) (string, string) {
					t.Helper()
					for _, s := range l.sets() {
						if s.Spec.Template.Spec.Version != version {
							continue
						}
						conditions.Set(&s.Status.Conditions, time.Now(), metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionTrue,
							Reason: reason, Message: tc.message})
						if _, err := l.api.ClusterV1alpha1().MachineSets("dev").UpdateStatus(t.Context(), &s, metav1.UpdateOptions{}); err != nil {
							t.Fatal(err)
						}
						l.after(time.Second)
						if tc.blocked {
							return reason, ". MachineSet " + s.Name + ": " + tc.message
						}
						return otherwise, ""
					}
					t.Fatalf("no set has the version %q", version)
					return "", ""
				}
				why, end := shown("v1", clusterv1alpha1.ScalingUpReason)
				l.says(clusterv1alpha1.ScalingUpCondition, "True "+why+" Scaling up from 0 to 2 replicas"+end)
				l.says("Reconciling", "True "+why+" Scaling up from 0 to 2 replicas"+end)
				l.fill()
				l.edit(func(d *deployment) { d.Spec.Template.Spec.Version = "v2" })
				why, end = shown("v2", clusterv1alpha1.RollingOutReason)
				want := "True " + why + " Rolling out 2 not up-to-date replicas: Version v1, v2 required" + end
				l.says(clusterv1alpha1.RollingOutCondition, want)
				l.says("Reconciling", want)
			})
		})
	}
}

func TestPausedDeployment_ShowsThatItsDeletionIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		l := run(t, d)
		l.says(clusterv1alpha1.DeletingCondition, "True Paused The deletion is paused: MachineDeployment has the cluster.x-k8s.io/paused annotation")
	})
}

func TestALostAnswerMakesNoSecondSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		l := run(t, d)
		l.says(clusterv1alpha1.PausedCondition, "True Paused MachineDeployment has the cluster.x-k8s.io/paused annotation")
		l.mu.Lock()
		l.lost = "create machinesets"
		l.mu.Unlock()
		l.edit(func(d *deployment) { d.Annotations = nil })
		l.after(time.Minute)
		if n := len(l.sets()); n != 1 {
			t.Errorf("there are %d sets, want 1", n)
		}
		l.says(clusterv1alpha1.PausedCondition, "False NotPaused")
	})
}

func TestASetThatMatchesIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		orphan := newSet(d, func(string) bool { return false })
		orphan.UID, orphan.OwnerReferences, orphan.Labels = "orphan", nil, map[string]string{"app": "md"}
		orphan.Spec.Replicas = ptr.To[int32](7)
		l := run(t, d, orphan)
		l.after(time.Second)
		sets := l.sets()
		if len(sets) != 1 || *sets[0].Spec.Replicas != 2 || metav1.GetControllerOf(&sets[0]) == nil {
			t.Errorf("sets are %+v, want the orphan with 2 replicas", sets)
		}
	})
}

// The garbage collector would delete the set.
func TestADeploymentThatIsGoneTakesNothingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		l := run(t, d)
		l.api.PrependReactor("get", "machinedeployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(clusterv1alpha1.Resource("machinedeployments"), "md")
		})
		orphan := newSet(d, func(string) bool { return false })
		orphan.Name, orphan.OwnerReferences, orphan.Labels = "orphan", nil, map[string]string{"app": "md"}
		sets := l.api.ClusterV1alpha1().MachineSets("dev")
		if _, err := sets.Create(context.Background(), orphan, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		now, err := sets.Get(context.Background(), "orphan", metav1.GetOptions{})
		if err != nil || len(now.OwnerReferences) > 0 {
			t.Errorf("owners of the set are %v, %v", now.OwnerReferences, err)
		}
	})
}

// Somebody in another namespace has written the deployment and its set as owners.
func TestOwnersOfAnotherNamespaceDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		forged := newSet(d, func(string) bool { return false })
		forged.Namespace, forged.UID, forged.Spec.Replicas = "other", "forged", ptr.To[int32](7)
		l := run(t, d, forged)
		if n := len(l.sets()); n != 1 {
			t.Fatalf("there are %d sets beside that of the other namespace, want 1", n)
		}
		l.fill()
		s := l.sets()[0]
		m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "m", Labels: s.Spec.Template.Metadata.Labels}}
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&s, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
		m.Spec.ClusterName = "c"
		if _, err := l.api.ClusterV1alpha1().Machines("other").Create(context.Background(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Second)
		l.edit(func(d *deployment) { d.Annotations = with(d.Annotations, "looked-at", "now") })
		if st := l.deployment().Status; *s.Spec.Replicas != 2 || *st.Replicas != 2 || *st.AvailableReplicas != 2 {
			t.Errorf("the set wants %d, and %d of %d Machines are available, want 2 of 2", *s.Spec.Replicas, *st.AvailableReplicas, *st.Replicas)
		}
		now, err := l.api.ClusterV1alpha1().MachineSets("other").Get(context.Background(), forged.Name, metav1.GetOptions{})
		if err != nil || *now.Spec.Replicas != 7 {
			t.Errorf("the set of the other namespace is %+v, %v", now, err)
		}
	})
}

func TestADeploymentThatIsBeingDeletedMakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		l := run(t, d)
		if n := len(l.sets()); n != 0 {
			t.Errorf("there are %d sets", n)
		}
		l.says(clusterv1alpha1.DeletingCondition, "True Deleting Waiting for 0 MachineSets and 0 Machines to be deleted")
		l.says("Reconciling", "")
	})
}

func TestADeploymentThatIsDeletedWithoutItsSetsTakesThemOffItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, simple(t))
		l.after(time.Second)
		l.writes()
		l.edit(func(d *deployment) {
			d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"elsewhere", metav1.FinalizerOrphanDependents}
			d.Annotations[clusterv1alpha1.PausedAnnotation] = ""
		})
		if sets := l.sets(); len(sets) != 1 || len(sets[0].OwnerReferences) != 0 {
			t.Errorf("sets are %+v, want one without owners", sets)
		}
		d := l.deployment()
		if diff := cmp.Diff([]string{"elsewhere"}, d.Finalizers); diff != "" || d.Annotations[clusterv1alpha1.ReleasedAnnotation] != "true" {
			t.Errorf("finalizers (-want +got):\n%s, annotations %v", diff, d.Annotations)
		}
		want := []string{"update machinedeployments", "update machinesets", "update machinedeployments", "update machinedeployments/status"}
		if diff := cmp.Diff(want, l.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}
