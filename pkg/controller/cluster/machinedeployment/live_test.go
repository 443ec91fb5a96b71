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

// controllerFixture runs the controller against a fake server with a fake clock.
type controllerFixture struct {
	t   *testing.T
	api *fake.Clientset

	mu sync.Mutex
	// calls are the writes, as verb and resource. If lost is set, this write is performed but returns a timeout error.
	calls []string
	lost  string
}

// run starts the controller with objects and a Cluster. It must be called in a synctest bubble.
func run(t *testing.T, objects ...runtime.Object) *controllerFixture {
	t.Helper()
	in := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c"}}
	f := &controllerFixture{t: t, api: fake.NewSimpleClientset(append(objects, in)...)}
	versions := livecontroller.Versions{}
	answer := func(action clienttesting.Action) (bool, runtime.Object, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		what := livecontroller.Call(action)
		f.calls = append(f.calls, what)
		create, ok := action.(clienttesting.CreateAction)
		if !ok {
			return false, nil, nil
		}
		versions.Stamp(action)
		if f.lost == what {
			f.lost = ""
			if err := f.api.Tracker().Create(action.GetResource(), create.GetObject(), action.GetNamespace()); err != nil {
				t.Error(err)
			}
			return true, nil, apierrors.NewTimeoutError("the response was lost", 1)
		}
		return false, nil, nil
	}
	for _, verb := range []string{"create", "update", "delete"} {
		f.api.PrependReactor(verb, "*", answer)
	}
	informers := externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{Client: f.api, Informers: informers, Recorder: events.NewFakeRecorder(1000)})
	if err != nil {
		t.Fatal(err)
	}
	livecontroller.Start(t, c.Run, informers)
	return f
}

func (f *controllerFixture) advance(d time.Duration) {
	livecontroller.After(d)
}

func (f *controllerFixture) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

func (f *controllerFixture) deployment() *deployment {
	f.t.Helper()
	d, err := f.api.ClusterV1alpha1().MachineDeployments("dev").Get(context.Background(), "md", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

func (f *controllerFixture) sets() []set {
	f.t.Helper()
	list, err := f.api.ClusterV1alpha1().MachineSets("dev").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// edit changes the deployment like a user and waits for the controller.
func (f *controllerFixture) edit(change func(*deployment)) {
	f.t.Helper()
	d := f.deployment()
	change(d)
	d.Generation++
	if _, err := f.api.ClusterV1alpha1().MachineDeployments("dev").Update(context.Background(), d, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.advance(time.Second)
}

// fill creates the Machines of all sets, which are available.
func (f *controllerFixture) fill() {
	f.t.Helper()
	for _, s := range f.sets() {
		for i := range *s.Spec.Replicas {
			m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: fmt.Sprintf("%s-%d", s.Name, i), Labels: s.Spec.Template.Metadata.Labels}}
			m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&s, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
			m.Spec.ClusterName = "c"
			(&fixture{}).setAvailable(m, true)
			conditions.Set(&m.Status.Conditions, time.Now(), metav1.Condition{Type: clusterv1alpha1.MachineUpToDateCondition, Status: metav1.ConditionTrue, Reason: "UpToDate"})
			_, err := f.api.ClusterV1alpha1().Machines("dev").Create(context.Background(), m, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				f.t.Fatal(err)
			}
			synctest.Wait() // The fake watch has a small buffer.
		}
	}
	f.advance(time.Second)
}

func (f *controllerFixture) expectCondition(conditionType, want string) {
	f.t.Helper()
	got := ""
	if c := conditions.Find(f.deployment().Status.Conditions, conditionType); c != nil {
		got = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
	}
	if got != want {
		f.t.Errorf("%s is %q, want %q", conditionType, got, want)
	}
}

func simple(t *testing.T) *deployment {
	d := newFixture(t, 2, count(1), count(0)).d
	d.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: "c"}
	return d
}

func TestDeployment_ReportsItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, simple(t))
		if diff := cmp.Diff([]string{"create machinesets", "update machinedeployments", "update machinedeployments/status"}, f.writes()); diff != "" {
			t.Errorf("writes of a new deployment (-want +got):\n%s", diff)
		}
		f.expectCondition(clusterv1alpha1.AvailableCondition, "False NotAvailable 0 available replicas, at least 2 required")
		f.expectCondition(clusterv1alpha1.ScalingUpCondition, "True ScalingUp Scaling up from 0 to 2 replicas")
		f.expectCondition("Reconciling", "True ScalingUp Scaling up from 0 to 2 replicas")
		if phase := f.deployment().Status.Phase; phase != clusterv1alpha1.MachineDeploymentPhaseScalingUp {
			t.Errorf("phase is %s", phase)
		}
		f.fill()
		f.expectCondition(clusterv1alpha1.AvailableCondition, "True Available")
		f.expectCondition(clusterv1alpha1.ScalingUpCondition, "False NotScalingUp")
		f.expectCondition(clusterv1alpha1.MachinesReadyCondition, "True Ready")
		f.expectCondition("Reconciling", "")
		d := f.deployment()
		if d.Status.Phase != clusterv1alpha1.MachineDeploymentPhaseRunning || *d.Status.AvailableReplicas != 2 || d.Status.Selector != "app=md" || d.Status.ObservedGeneration != 1 {
			t.Errorf("status is %+v", d.Status)
		}
		if d.Annotations[clusterv1alpha1.RevisionAnnotation] != "1" || len(d.OwnerReferences) != 1 {
			t.Errorf("metadata is %+v", d.ObjectMeta)
		}
		f.writes()
		f.advance(24 * time.Hour)
		if writes := f.writes(); len(writes) > 0 {
			t.Errorf("writes in a day without changes: %v", writes)
		}
		f.edit(func(d *deployment) { d.Spec.Template.Spec.Version = "v2" })
		f.expectCondition(clusterv1alpha1.RollingOutCondition, "True RollingOut Rolling out 2 not up-to-date replicas: Version v1, v2 required")
		f.expectCondition("Reconciling", "True RollingOut Rolling out 2 not up-to-date replicas: Version v1, v2 required")
		if n := len(f.sets()); n != 2 {
			t.Errorf("there are %d sets, want 2", n)
		}
		if n := *f.deployment().Status.UpToDateReplicas; n != 0 {
			t.Errorf("%d Machines with the previous template count as up to date", n)
		}
	})
}

func TestDeployment_ReportsWhyItsSetIsBlocked(t *testing.T) {
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
				f := run(t, simple(t))
				// shown sets the condition of the set of a version. It returns the expected reason and end of the
				// deployment's message.
				shown := func(version, otherwise string) (string, string) {
					t.Helper()
					for _, s := range f.sets() {
						if s.Spec.Template.Spec.Version != version {
							continue
						}
						conditions.Set(&s.Status.Conditions, time.Now(), metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionTrue,
							Reason: reason, Message: tc.message})
						if _, err := f.api.ClusterV1alpha1().MachineSets("dev").UpdateStatus(t.Context(), &s, metav1.UpdateOptions{}); err != nil {
							t.Fatal(err)
						}
						f.advance(time.Second)
						if tc.blocked {
							return reason, ". MachineSet " + s.Name + ": " + tc.message
						}
						return otherwise, ""
					}
					t.Fatalf("no set has the version %q", version)
					return "", ""
				}
				why, end := shown("v1", clusterv1alpha1.ScalingUpReason)
				f.expectCondition(clusterv1alpha1.ScalingUpCondition, "True "+why+" Scaling up from 0 to 2 replicas"+end)
				f.expectCondition("Reconciling", "True "+why+" Scaling up from 0 to 2 replicas"+end)
				f.fill()
				f.edit(func(d *deployment) { d.Spec.Template.Spec.Version = "v2" })
				why, end = shown("v2", clusterv1alpha1.RollingOutReason)
				want := "True " + why + " Rolling out 2 not up-to-date replicas: Version v1, v2 required" + end
				f.expectCondition(clusterv1alpha1.RollingOutCondition, want)
				f.expectCondition("Reconciling", want)
			})
		})
	}
}

func TestPausedDeployment_ReportsThatItsDeletionIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		f := run(t, d)
		f.expectCondition(clusterv1alpha1.DeletingCondition, "True Paused The deletion is paused: MachineDeployment has the cluster.x-k8s.io/paused annotation")
	})
}

func TestDeployment_CreatesNoSecondSetAfterALostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
		f := run(t, d)
		f.expectCondition(clusterv1alpha1.PausedCondition, "True Paused MachineDeployment has the cluster.x-k8s.io/paused annotation")
		f.mu.Lock()
		f.lost = "create machinesets"
		f.mu.Unlock()
		f.edit(func(d *deployment) { d.Annotations = nil })
		f.advance(time.Minute)
		if n := len(f.sets()); n != 1 {
			t.Errorf("there are %d sets, want 1", n)
		}
		f.expectCondition(clusterv1alpha1.PausedCondition, "False NotPaused")
	})
}

func TestDeployment_AdoptsMatchingSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		orphan := newSet(d, func(string) bool { return false })
		orphan.UID, orphan.OwnerReferences, orphan.Labels = "orphan", nil, map[string]string{"app": "md"}
		orphan.Spec.Replicas = ptr.To[int32](7)
		f := run(t, d, orphan)
		f.advance(time.Second)
		sets := f.sets()
		if len(sets) != 1 || *sets[0].Spec.Replicas != 2 || metav1.GetControllerOf(&sets[0]) == nil {
			t.Errorf("sets are %+v, want the orphan with 2 replicas", sets)
		}
	})
}

// The garbage collector would delete the set.
func TestDeployment_AdoptsNothingAfterItsDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		f := run(t, d)
		f.api.PrependReactor("get", "machinedeployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(clusterv1alpha1.Resource("machinedeployments"), "md")
		})
		orphan := newSet(d, func(string) bool { return false })
		orphan.Name, orphan.OwnerReferences, orphan.Labels = "orphan", nil, map[string]string{"app": "md"}
		sets := f.api.ClusterV1alpha1().MachineSets("dev")
		if _, err := sets.Create(context.Background(), orphan, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(time.Minute)
		now, err := sets.Get(context.Background(), "orphan", metav1.GetOptions{})
		if err != nil || len(now.OwnerReferences) > 0 {
			t.Errorf("owners of the set are %v, %v", now.OwnerReferences, err)
		}
	})
}

// A user in another namespace has set the deployment and its set as owners.
func TestDeployment_IgnoresOwnersInOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		forged := newSet(d, func(string) bool { return false })
		forged.Namespace, forged.UID, forged.Spec.Replicas = "other", "forged", ptr.To[int32](7)
		f := run(t, d, forged)
		if n := len(f.sets()); n != 1 {
			t.Fatalf("there are %d sets in addition to that of the other namespace, want 1", n)
		}
		f.fill()
		s := f.sets()[0]
		m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "m", Labels: s.Spec.Template.Metadata.Labels}}
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&s, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
		m.Spec.ClusterName = "c"
		if _, err := f.api.ClusterV1alpha1().Machines("other").Create(context.Background(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(time.Second)
		f.edit(func(d *deployment) { d.Annotations = withEntry(d.Annotations, "looked-at", "now") })
		if st := f.deployment().Status; *s.Spec.Replicas != 2 || *st.Replicas != 2 || *st.AvailableReplicas != 2 {
			t.Errorf("the set has %d replicas, and %d of %d Machines are available, want 2 of 2", *s.Spec.Replicas, *st.AvailableReplicas, *st.Replicas)
		}
		now, err := f.api.ClusterV1alpha1().MachineSets("other").Get(context.Background(), forged.Name, metav1.GetOptions{})
		if err != nil || *now.Spec.Replicas != 7 {
			t.Errorf("the set of the other namespace is %+v, %v", now, err)
		}
	})
}

func TestDeployment_CreatesNothingWhileItIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simple(t)
		d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
		f := run(t, d)
		if n := len(f.sets()); n != 0 {
			t.Errorf("there are %d sets", n)
		}
		f.expectCondition(clusterv1alpha1.DeletingCondition, "True Deleting Waiting for 0 MachineSets and 0 Machines to be deleted")
		f.expectCondition("Reconciling", "")
	})
}

func TestDeployment_RemovesOwnerReferencesWhenOrphaningSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, simple(t))
		f.advance(time.Second)
		f.writes()
		f.edit(func(d *deployment) {
			d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"elsewhere", metav1.FinalizerOrphanDependents}
			d.Annotations[clusterv1alpha1.PausedAnnotation] = ""
		})
		if sets := f.sets(); len(sets) != 1 || len(sets[0].OwnerReferences) != 0 {
			t.Errorf("sets are %+v, want one without owners", sets)
		}
		d := f.deployment()
		if diff := cmp.Diff([]string{"elsewhere"}, d.Finalizers); diff != "" || d.Annotations[clusterv1alpha1.ReleasedAnnotation] != "true" {
			t.Errorf("finalizers (-want +got):\n%s, annotations %v", diff, d.Annotations)
		}
		want := []string{"update machinedeployments", "update machinesets", "update machinedeployments", "update machinedeployments/status"}
		if diff := cmp.Diff(want, f.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}
