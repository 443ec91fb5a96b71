// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

func count(n int) intstr.IntOrString    { return intstr.FromInt(n) }
func share(s string) intstr.IntOrString { return intstr.FromString(s) }

func TestFenceposts_AreThoseOfKubernetes(t *testing.T) {
	for _, test := range []struct {
		surge, unavailable         *intstr.IntOrString
		replicas                   int32
		wantSurge, wantUnavailable int32
	}{
		{nil, nil, 3, 1, 0},
		{ptr.To(count(2)), ptr.To(count(1)), 3, 2, 1},
		{ptr.To(share("0%")), ptr.To(share("1%")), 2, 0, 1},
		{ptr.To(share("1%")), ptr.To(share("25%")), 2, 1, 0},
		{ptr.To(share("25%")), ptr.To(share("25%")), 10, 3, 2},
		{ptr.To(count(0)), ptr.To(count(9)), 3, 0, 3},
		{ptr.To(count(0)), ptr.To(count(1)), 0, 0, 0},
		{ptr.To(share("many")), ptr.To(share("few")), 3, 1, 0},
	} {
		d := &deployment{}
		d.Spec.Rollout.Strategy.RollingUpdate = clusterv1alpha1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: test.surge, MaxUnavailable: test.unavailable}
		surge, unavailable := fenceposts(d, test.replicas)
		if surge != test.wantSurge || unavailable != test.wantUnavailable {
			t.Errorf("maxSurge %v, maxUnavailable %v of %d: %d and %d, want %d and %d", test.surge, test.unavailable, test.replicas, surge, unavailable, test.wantSurge, test.wantUnavailable)
		}
	}
	onDelete := &deployment{}
	onDelete.Spec.Rollout.Strategy.Type = clusterv1alpha1.OnDeleteMachineDeploymentStrategyType
	if surge, unavailable := fenceposts(onDelete, 5); surge != 0 || unavailable != 0 {
		t.Errorf("OnDelete: %d and %d, want none", surge, unavailable)
	}
}

// steps returns the Machines after each step until nothing changes.
func (w *fixture) steps() []string {
	var all []string
	w.settle(func() {
		if now := w.String(); len(all) == 0 || all[len(all)-1] != now {
			all = append(all, now)
		}
	})
	return all
}

func TestRollout_Steps(t *testing.T) {
	for name, test := range map[string]struct {
		replicas           int32
		surge, unavailable intstr.IntOrString
		want               []string
	}{
		"one more":                  {3, count(1), count(0), []string{"v1:3/3 v2:1/1", "v1:2/3 v2:1/1", "v1:2/2 v2:1/1", "v1:2/2 v2:2/2", "v1:1/2 v2:2/2", "v1:1/1 v2:2/2", "v1:1/1 v2:3/3", "v1:0/1 v2:3/3", "v2:3/3"}},
		"one fewer":                 {3, count(0), count(1), []string{"v1:2/3", "v1:2/2", "v1:2/2 v2:1/1", "v1:1/2 v2:1/1", "v1:1/1 v2:1/1", "v1:1/1 v2:2/2", "v1:0/1 v2:2/2", "v2:2/2", "v2:3/3"}},
		"all together":              {3, share("100%"), count(0), []string{"v1:3/3 v2:3/3", "v1:0/3 v2:3/3", "v2:3/3"}},
		"all together, unavailable": {2, count(0), share("100%"), []string{"v1:0/2", "", "v2:2/2"}},
		"of a single Machine":       {1, count(1), count(0), []string{"v1:1/1 v2:1/1", "v1:0/1 v2:1/1", "v2:1/1"}},
		"of none":                   {0, count(1), count(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, test.replicas, test.surge, test.unavailable)
			w.settle(nil)
			before := w.String()
			w.version("v2")
			got := w.steps()
			for len(got) > 0 && got[0] == before {
				got = got[1:]
			}
			if diff := cmp.Diff(strings.Join(test.want, "\n"), strings.Join(got, "\n")); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// The limits hold for any changes in between, and for slow deletions.
func TestRollout_StaysWithinItsLimits(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		replicas := 1 + r.Int32N(12)
		surge, unavailable := r.IntN(4), r.IntN(4)
		if surge == 0 && unavailable == 0 {
			surge = 1
		}
		w := newFixture(t, replicas, count(surge), count(unavailable))
		w.slow, w.boot = r.IntN(4), r.IntN(4)
		w.d.Spec.Deletion.Order = []clusterv1alpha1.MachineSetDeletionOrder{"Random", "Newest", "Oldest"}[r.IntN(3)]
		w.settle(nil)
		for roll := range 3 {
			w.version(fmt.Sprintf("v%d", 2+roll))
			for range r.IntN(6) { // Not all of the rollouts complete.
				w.reconcile()
				w.step()
				all, available := w.total()
				if all > int(replicas)+surge {
					t.Fatalf("seed %d: %d Machines (%s), want at most %d and %d more", seed, all, w, replicas, surge)
				}
				if available < int(replicas)-unavailable {
					t.Fatalf("seed %d: %d Machines are available (%s), want at least %d less %d", seed, available, w, replicas, unavailable)
				}
			}
		}
		w.settle(nil)
		if want := fmt.Sprintf("v4:%d/%d", replicas, replicas); w.String() != want {
			t.Fatalf("seed %d: ends with %s, want %s", seed, w, want)
		}
		if len(w.sets) > 2 {
			t.Errorf("seed %d: %d sets exist, want the current and one previous", seed, len(w.sets))
		}
		if w.reconcile() {
			t.Errorf("seed %d: a plan of a completed rollout changes it", seed)
		}
	}
}

func TestRollout_ReplacesFewMachinesWithABrokenTemplate(t *testing.T) {
	w := newFixture(t, 5, count(1), count(1))
	w.settle(nil)
	w.broken["v2"] = true
	w.version("v2")
	w.settle(nil)
	w.expectMachines("v2 never becomes available", "v1:4/4 v2:0/2")
	w.version("v1")
	w.settle(nil)
	w.expectMachines("after the rollback", "v1:5/5")
	if got := w.set("v1").Annotations[clusterv1alpha1.RevisionAnnotation]; got != "3" {
		t.Errorf("the revision of the first template is %s, want 3", got)
	}
	if got := w.set("v1").Annotations[clusterv1alpha1.RevisionHistoryAnnotation]; got != "1" {
		t.Errorf("its history is %q, want 1", got)
	}
}

func TestRollout_DeletesUnavailableMachinesFirst(t *testing.T) {
	w := newFixture(t, 4, count(1), count(0))
	w.settle(nil)
	w.broken["v1"] = true
	for _, m := range w.machines[w.set("v1").Name][:2] {
		w.setAvailable(m, false)
	}
	w.version("v2")
	least := 2
	w.settle(func() {
		if _, available := w.total(); available < least {
			t.Errorf("%s: fewer are available than before", w)
		} else {
			least = min(available, 4)
		}
	})
	w.expectMachines("finally", "v2:4/4")
}

// A marked Machine is deleted first, but it is available. It must wait for a Machine of the new template.
func TestRollout_KeepsAMarkedMachineUntilItIsReplaced(t *testing.T) {
	w := newFixture(t, 4, count(1), count(1))
	w.settle(nil)
	old := w.machines[w.set("v1").Name]
	w.broken["v1"], w.boot = true, 2
	w.setAvailable(old[3], false)
	old[0].Annotations = map[string]string{clusterv1alpha1.DeleteMachineAnnotation: ""}
	w.version("v2")
	w.settle(func() {
		if _, available := w.total(); available < 3 {
			t.Errorf("%s: want at least 3 available", w)
		}
	})
	w.expectMachines("finally", "v2:4/4")
}

// An available Machine that a user has marked would be deleted before the unavailable one, which is the only one that may be deleted.
func TestRollout_EndsWithUnavailableMachines(t *testing.T) {
	w := newFixture(t, 2, count(1), count(0))
	w.settle(nil)
	old := w.machines[w.set("v1").Name]
	w.broken["v1"] = true
	w.setAvailable(old[1], false)
	old[0].Annotations = map[string]string{clusterv1alpha1.DeleteMachineAnnotation: ""}
	w.version("v2")
	w.settle(nil)
	w.expectMachines("finally", "v2:2/2")
}

// After a short failure of its Node, the Machine is Ready again, and available after minReadySeconds.
func TestRollout_WaitsForMinReadySeconds(t *testing.T) {
	w := newFixture(t, 2, count(1), count(0))
	w.settle(nil)
	old := w.machines[w.set("v1").Name]
	w.broken["v1"] = true
	conditions.Set(&old[1].Status.Conditions, w.now, metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionFalse, Reason: "WaitingForMinReadySeconds"})
	w.version("v2")
	w.settle(nil)
	w.expectMachines("while it waits", "v1:1/2 v2:1/1")
	w.setAvailable(old[1], true)
	least := 3
	w.settle(func() {
		_, available := w.total()
		least = min(least, available)
	})
	w.expectMachines("finally", "v2:2/2")
	if least < 2 {
		t.Errorf("%d Machines were available, want 2 at any time", least)
	}
}

func TestOnDelete_ReplacesMachinesThatUsersDelete(t *testing.T) {
	w := newFixture(t, 3, count(1), count(0))
	w.d.Spec.Rollout.Strategy = clusterv1alpha1.MachineDeploymentRolloutStrategy{Type: clusterv1alpha1.OnDeleteMachineDeploymentStrategyType}
	w.settle(nil)
	w.version("v2")
	w.settle(nil)
	w.expectMachines("no Machine deleted", "v1:3/3")
	name := w.set("v1").Name
	if got := w.sets[name].Annotations[clusterv1alpha1.DisableMachineCreateAnnotation]; got != "true" {
		t.Errorf("the old set may create Machines: %q", got)
	}
	w.machines[name] = w.machines[name][1:]
	w.settle(nil)
	w.expectMachines("one is deleted", "v1:2/2 v2:1/1")
	w.replicas(2)
	w.settle(nil)
	w.expectMachines("scaled down", "v1:1/1 v2:1/1")
	w.replicas(4)
	w.settle(nil)
	w.expectMachines("scaled up", "v1:1/1 v2:3/3")
	w.d.Spec.Rollout.Strategy = clusterv1alpha1.MachineDeploymentRolloutStrategy{}
	w.settle(nil)
	w.expectMachines("after the change of the strategy", "v2:4/4")
	if got, ok := w.set("v2").Annotations[clusterv1alpha1.DisableMachineCreateAnnotation]; ok {
		t.Errorf("the set cannot create Machines: %q", got)
	}
}

func TestPausedDeployment_ScalesButDoesNotRoll(t *testing.T) {
	w := newFixture(t, 3, count(1), count(0))
	w.settle(nil)
	w.d.Spec.Paused = ptr.To(true)
	w.version("v2")
	w.settle(nil)
	w.expectMachines("paused", "v1:3/3")
	if len(w.sets) != 1 {
		t.Errorf("there are %d sets, want none of the new template", len(w.sets))
	}
	w.replicas(5)
	w.settle(nil)
	w.expectMachines("scaled", "v1:5/5")
	w.d.Spec.Paused = nil
	w.settle(nil)
	w.expectMachines("resumed", "v2:5/5")
}

func TestScaling_IsDistributedDuringARollout(t *testing.T) {
	w := newFixture(t, 10, count(2), count(2))
	w.settle(nil)
	w.broken["v2"] = true
	w.version("v2")
	w.settle(nil)
	w.expectMachines("blocked rollout", "v1:8/8 v2:0/4")
	w.replicas(20)
	w.reconcile()
	// 22 Machines are allowed, 12 were before: 8 become 15, 4 become 7.
	if old, now := *w.set("v1").Spec.Replicas, *w.set("v2").Spec.Replicas; old != 15 || now != 7 {
		t.Errorf("scaled up: %d old and %d new, want 15 and 7", old, now)
	}
	w.step()
	w.replicas(5)
	w.reconcile()
	// 7 of 22 are allowed.
	if old, now := *w.set("v1").Spec.Replicas, *w.set("v2").Spec.Replicas; old != 5 || now != 2 {
		t.Errorf("scaled down: %d old and %d new, want 5 and 2", old, now)
	}
	w.replicas(0)
	w.settle(nil)
	w.expectMachines("scaled to none", "")
}

func TestRolloutAfter_ReplacesMachines(t *testing.T) {
	w := newFixture(t, 2, count(1), count(0))
	w.settle(nil)
	at := w.now.Add(time.Hour)
	w.d.Spec.Rollout.After = &metav1.Time{Time: at}
	if p := w.plan(); !p.until.Equal(at) {
		t.Errorf("requeued at %v, want %v", p.until, at)
	}
	w.settle(nil)
	first := w.set("v1").Name
	w.now = at
	w.settle(nil)
	w.expectMachines("after the time", "v1:2/2")
	if now := w.set("v1").Name; now == first {
		t.Error("the Machines were not replaced")
	}
	if p := w.plan(); !p.until.IsZero() {
		t.Errorf("requeued at %v, although nothing is pending", p.until)
	}
}

func TestRollback_ReusesThePreviousSet(t *testing.T) {
	w := newFixture(t, 2, count(1), count(0))
	w.d.Spec.RevisionHistoryLimit = ptr.To[int32](2)
	for _, v := range []string{"v1", "v2", "v3", "v4"} {
		w.version(v)
		w.settle(nil)
	}
	if len(w.sets) != 3 {
		t.Errorf("%d sets exist, want the current and two previous", len(w.sets))
	}
	before := w.set("v3").Name
	w.version("v3")
	w.settle(nil)
	w.expectMachines("rolled back", "v3:2/2")
	if s := w.set("v3"); s.Name != before || s.Annotations[clusterv1alpha1.RevisionAnnotation] != "5" || w.d.Annotations[clusterv1alpha1.RevisionAnnotation] != "5" {
		t.Errorf("set %s has revision %s, the deployment %s, want %s and 5", s.Name, s.Annotations[clusterv1alpha1.RevisionAnnotation], w.d.Annotations[clusterv1alpha1.RevisionAnnotation], before)
	}
}

func TestRevision_NeverDecreases(t *testing.T) {
	w := newFixture(t, 1, count(1), count(0))
	w.d.Spec.RevisionHistoryLimit = ptr.To[int32](0)
	for _, v := range []string{"v1", "v2", "v3"} {
		w.version(v)
		w.settle(nil)
	}
	if got := w.set("v3").Annotations[clusterv1alpha1.RevisionAnnotation]; got != "3" || len(w.sets) != 1 {
		t.Errorf("revision %s of %d sets, want 3 of the only one", got, len(w.sets))
	}
}

func TestDeployment_UpdatesSetsInPlace(t *testing.T) {
	w := newFixture(t, 2, count(1), count(0))
	w.d.Spec.Template.Metadata.Labels["node-role.kubernetes.io/worker"] = ""
	w.settle(nil)
	name := w.set("v1").Name
	delete(w.d.Spec.Template.Metadata.Labels, "node-role.kubernetes.io/worker")
	w.d.Spec.Template.Spec.MinReadySeconds = ptr.To[int32](7)
	w.d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
	w.d.Spec.Deletion.Order = clusterv1alpha1.OldestMachineSetDeletionOrder
	w.d.Annotations = withEntry(w.d.Annotations, ChangeCauseAnnotation, "slower drains")
	w.settle(nil)
	s := w.set("v1")
	if s.Name != name || len(w.sets) != 1 {
		t.Fatalf("there are %d sets, the current one is %s, want only %s", len(w.sets), s.Name, name)
	}
	hash := s.Labels[clusterv1alpha1.MachineDeploymentUniqueLabel]
	want := map[string]string{"app": "md", clusterv1alpha1.MachineDeploymentUniqueLabel: hash}
	if diff := cmp.Diff(want, s.Spec.Template.Metadata.Labels); diff != "" {
		t.Errorf("labels of the template (-want +got):\n%s", diff)
	}
	want[clusterv1alpha1.ClusterNameLabel], want[clusterv1alpha1.MachineDeploymentNameLabel] = "c", "md"
	if diff := cmp.Diff(want, s.Labels); diff != "" {
		t.Errorf("labels of the set (-want +got):\n%s", diff)
	}
	if s.Spec.Selector.MatchLabels[clusterv1alpha1.MachineDeploymentUniqueLabel] != hash || hash == "" {
		t.Errorf("the selector is %v, and the hash %q", s.Spec.Selector, hash)
	}
	if *s.Spec.Template.Spec.MinReadySeconds != 7 || *s.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds != 60 || s.Spec.Deletion.Order != "Oldest" || s.Annotations[ChangeCauseAnnotation] != "slower drains" {
		t.Errorf("the set is %+v", s.Spec)
	}
}

func TestSetNames_DependOnTheTemplate(t *testing.T) {
	d := newFixture(t, 1, count(1), count(0)).d
	d.Name = strings.Repeat("long-", 20)
	free := func(string) bool { return false }
	first, again := newSet(d, free), newSet(d, free)
	if first.Name != again.Name || len(first.Name) > maxSetName {
		t.Errorf("names are %s and %s, want one name of at most %d characters", first.Name, again.Name, maxSetName)
	}
	other := newSet(d, func(name string) bool { return name == first.Name })
	if other.Name == first.Name {
		t.Errorf("the name %s is already used", other.Name)
	}
	for length := range maxSetName {
		d.Name = strings.Repeat("a", length+1) + ".of.a-group"
		if name := newSet(d, free).Name; len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("the set of %s has the name %s, which is not valid", d.Name, name)
		}
	}
}
