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
func (f *fixture) steps() []string {
	var all []string
	f.settle(func() {
		if now := f.String(); len(all) == 0 || all[len(all)-1] != now {
			all = append(all, now)
		}
	})
	return all
}

func TestRollout_ScalesSetsStepByStep(t *testing.T) {
	for name, test := range map[string]struct {
		replicas           int32
		surge, unavailable intstr.IntOrString
		want               []string
	}{
		"surge of one":     {3, count(1), count(0), []string{"v1:3/3 v2:1/1", "v1:2/3 v2:1/1", "v1:2/2 v2:1/1", "v1:2/2 v2:2/2", "v1:1/2 v2:2/2", "v1:1/1 v2:2/2", "v1:1/1 v2:3/3", "v1:0/1 v2:3/3", "v2:3/3"}},
		"one unavailable":  {3, count(0), count(1), []string{"v1:2/3", "v1:2/2", "v1:2/2 v2:1/1", "v1:1/2 v2:1/1", "v1:1/1 v2:1/1", "v1:1/1 v2:2/2", "v1:0/1 v2:2/2", "v2:2/2", "v2:3/3"}},
		"surge of 100%":    {3, share("100%"), count(0), []string{"v1:3/3 v2:3/3", "v1:0/3 v2:3/3", "v2:3/3"}},
		"100% unavailable": {2, count(0), share("100%"), []string{"v1:0/2", "", "v2:2/2"}},
		"a single Machine": {1, count(1), count(0), []string{"v1:1/1 v2:1/1", "v1:0/1 v2:1/1", "v2:1/1"}},
		"no Machines":      {0, count(1), count(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.replicas, test.surge, test.unavailable)
			f.settle(nil)
			before := f.String()
			f.version("v2")
			got := f.steps()
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
		f := newFixture(t, replicas, count(surge), count(unavailable))
		f.slow, f.boot = r.IntN(4), r.IntN(4)
		f.d.Spec.Deletion.Order = []clusterv1alpha1.MachineSetDeletionOrder{"Random", "Newest", "Oldest"}[r.IntN(3)]
		f.settle(nil)
		for roll := range 3 {
			f.version(fmt.Sprintf("v%d", 2+roll))
			for range r.IntN(6) { // Not all of the rollouts complete.
				f.reconcile()
				f.step()
				all, available := f.total()
				if all > int(replicas)+surge {
					t.Fatalf("seed %d: %d Machines (%s), want at most %d and %d more", seed, all, f, replicas, surge)
				}
				if available < int(replicas)-unavailable {
					t.Fatalf("seed %d: %d Machines are available (%s), want at least %d less %d", seed, available, f, replicas, unavailable)
				}
			}
		}
		f.settle(nil)
		if want := fmt.Sprintf("v4:%d/%d", replicas, replicas); f.String() != want {
			t.Fatalf("seed %d: ends with %s, want %s", seed, f, want)
		}
		if len(f.sets) > 2 {
			t.Errorf("seed %d: %d sets exist, want the current and one previous", seed, len(f.sets))
		}
		if f.reconcile() {
			t.Errorf("seed %d: a plan of a completed rollout changes it", seed)
		}
	}
}

func TestRollout_ReplacesFewMachinesWithABrokenTemplate(t *testing.T) {
	f := newFixture(t, 5, count(1), count(1))
	f.settle(nil)
	f.broken["v2"] = true
	f.version("v2")
	f.settle(nil)
	f.expectMachines("v2 never becomes available", "v1:4/4 v2:0/2")
	f.version("v1")
	f.settle(nil)
	f.expectMachines("after the rollback", "v1:5/5")
	if got := f.set("v1").Annotations[clusterv1alpha1.RevisionAnnotation]; got != "3" {
		t.Errorf("the revision of the first template is %s, want 3", got)
	}
	if got := f.set("v1").Annotations[clusterv1alpha1.RevisionHistoryAnnotation]; got != "1" {
		t.Errorf("its history is %q, want 1", got)
	}
}

func TestRollout_DeletesUnavailableMachinesFirst(t *testing.T) {
	f := newFixture(t, 4, count(1), count(0))
	f.settle(nil)
	f.broken["v1"] = true
	for _, m := range f.machines[f.set("v1").Name][:2] {
		f.setAvailable(m, false)
	}
	f.version("v2")
	least := 2
	f.settle(func() {
		if _, available := f.total(); available < least {
			t.Errorf("%s: fewer are available than before", f)
		} else {
			least = min(available, 4)
		}
	})
	f.expectMachines("finally", "v2:4/4")
}

// A marked Machine is deleted first, but it is available. It must wait for a Machine of the new template.
func TestRollout_KeepsAMarkedMachineUntilItIsReplaced(t *testing.T) {
	f := newFixture(t, 4, count(1), count(1))
	f.settle(nil)
	old := f.machines[f.set("v1").Name]
	f.broken["v1"], f.boot = true, 2
	f.setAvailable(old[3], false)
	old[0].Annotations = map[string]string{clusterv1alpha1.DeleteMachineAnnotation: ""}
	f.version("v2")
	f.settle(func() {
		if _, available := f.total(); available < 3 {
			t.Errorf("%s: want at least 3 available", f)
		}
	})
	f.expectMachines("finally", "v2:4/4")
}

// An available Machine that a user has marked would be deleted before the unavailable one, which is the only one that may be deleted.
func TestRollout_EndsWithUnavailableMachines(t *testing.T) {
	f := newFixture(t, 2, count(1), count(0))
	f.settle(nil)
	old := f.machines[f.set("v1").Name]
	f.broken["v1"] = true
	f.setAvailable(old[1], false)
	old[0].Annotations = map[string]string{clusterv1alpha1.DeleteMachineAnnotation: ""}
	f.version("v2")
	f.settle(nil)
	f.expectMachines("finally", "v2:2/2")
}

// After a short failure of its Node, the Machine is Ready again, and available after minReadySeconds.
func TestRollout_WaitsForMinReadySeconds(t *testing.T) {
	f := newFixture(t, 2, count(1), count(0))
	f.settle(nil)
	old := f.machines[f.set("v1").Name]
	f.broken["v1"] = true
	conditions.Set(&old[1].Status.Conditions, f.now, metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionFalse, Reason: "WaitingForMinReadySeconds"})
	f.version("v2")
	f.settle(nil)
	f.expectMachines("while it waits", "v1:1/2 v2:1/1")
	f.setAvailable(old[1], true)
	least := 3
	f.settle(func() {
		_, available := f.total()
		least = min(least, available)
	})
	f.expectMachines("finally", "v2:2/2")
	if least < 2 {
		t.Errorf("%d Machines were available, want 2 at any time", least)
	}
}

func TestOnDelete_ReplacesMachinesThatUsersDelete(t *testing.T) {
	f := newFixture(t, 3, count(1), count(0))
	f.d.Spec.Rollout.Strategy = clusterv1alpha1.MachineDeploymentRolloutStrategy{Type: clusterv1alpha1.OnDeleteMachineDeploymentStrategyType}
	f.settle(nil)
	f.version("v2")
	f.settle(nil)
	f.expectMachines("no Machine deleted", "v1:3/3")
	name := f.set("v1").Name
	if got := f.sets[name].Annotations[clusterv1alpha1.DisableMachineCreateAnnotation]; got != "true" {
		t.Errorf("the old set may create Machines: %q", got)
	}
	f.machines[name] = f.machines[name][1:]
	f.settle(nil)
	f.expectMachines("one is deleted", "v1:2/2 v2:1/1")
	f.replicas(2)
	f.settle(nil)
	f.expectMachines("scaled down", "v1:1/1 v2:1/1")
	f.replicas(4)
	f.settle(nil)
	f.expectMachines("scaled up", "v1:1/1 v2:3/3")
	f.d.Spec.Rollout.Strategy = clusterv1alpha1.MachineDeploymentRolloutStrategy{}
	f.settle(nil)
	f.expectMachines("after the change of the strategy", "v2:4/4")
	if got, ok := f.set("v2").Annotations[clusterv1alpha1.DisableMachineCreateAnnotation]; ok {
		t.Errorf("the set cannot create Machines: %q", got)
	}
}

func TestPausedDeployment_ScalesButDoesNotRoll(t *testing.T) {
	f := newFixture(t, 3, count(1), count(0))
	f.settle(nil)
	f.d.Spec.Paused = ptr.To(true)
	f.version("v2")
	f.settle(nil)
	f.expectMachines("paused", "v1:3/3")
	if len(f.sets) != 1 {
		t.Errorf("there are %d sets, want none of the new template", len(f.sets))
	}
	f.replicas(5)
	f.settle(nil)
	f.expectMachines("scaled", "v1:5/5")
	f.d.Spec.Paused = nil
	f.settle(nil)
	f.expectMachines("resumed", "v2:5/5")
}

func TestScaling_IsDistributedDuringARollout(t *testing.T) {
	f := newFixture(t, 10, count(2), count(2))
	f.settle(nil)
	f.broken["v2"] = true
	f.version("v2")
	f.settle(nil)
	f.expectMachines("blocked rollout", "v1:8/8 v2:0/4")
	f.replicas(20)
	f.reconcile()
	// 22 Machines are allowed, 12 were before: 8 become 15, 4 become 7.
	if old, now := *f.set("v1").Spec.Replicas, *f.set("v2").Spec.Replicas; old != 15 || now != 7 {
		t.Errorf("scaled up: %d old and %d new, want 15 and 7", old, now)
	}
	f.step()
	f.replicas(5)
	f.reconcile()
	// 7 of 22 are allowed.
	if old, now := *f.set("v1").Spec.Replicas, *f.set("v2").Spec.Replicas; old != 5 || now != 2 {
		t.Errorf("scaled down: %d old and %d new, want 5 and 2", old, now)
	}
	f.replicas(0)
	f.settle(nil)
	f.expectMachines("scaled to none", "")
}

func TestRolloutAfter_ReplacesMachines(t *testing.T) {
	f := newFixture(t, 2, count(1), count(0))
	f.settle(nil)
	at := f.now.Add(time.Hour)
	f.d.Spec.Rollout.After = &metav1.Time{Time: at}
	if p := f.plan(); !p.until.Equal(at) {
		t.Errorf("requeued at %v, want %v", p.until, at)
	}
	f.settle(nil)
	first := f.set("v1").Name
	f.now = at
	f.settle(nil)
	f.expectMachines("after the time", "v1:2/2")
	if now := f.set("v1").Name; now == first {
		t.Error("the Machines were not replaced")
	}
	if p := f.plan(); !p.until.IsZero() {
		t.Errorf("requeued at %v, although nothing is pending", p.until)
	}
}

func TestRollback_ReusesThePreviousSet(t *testing.T) {
	f := newFixture(t, 2, count(1), count(0))
	f.d.Spec.RevisionHistoryLimit = ptr.To[int32](2)
	for _, v := range []string{"v1", "v2", "v3", "v4"} {
		f.version(v)
		f.settle(nil)
	}
	if len(f.sets) != 3 {
		t.Errorf("%d sets exist, want the current and two previous", len(f.sets))
	}
	before := f.set("v3").Name
	f.version("v3")
	f.settle(nil)
	f.expectMachines("rolled back", "v3:2/2")
	if s := f.set("v3"); s.Name != before || s.Annotations[clusterv1alpha1.RevisionAnnotation] != "5" || f.d.Annotations[clusterv1alpha1.RevisionAnnotation] != "5" {
		t.Errorf("set %s has revision %s, the deployment %s, want %s and 5", s.Name, s.Annotations[clusterv1alpha1.RevisionAnnotation], f.d.Annotations[clusterv1alpha1.RevisionAnnotation], before)
	}
}

func TestRevision_NeverDecreases(t *testing.T) {
	f := newFixture(t, 1, count(1), count(0))
	f.d.Spec.RevisionHistoryLimit = ptr.To[int32](0)
	for _, v := range []string{"v1", "v2", "v3"} {
		f.version(v)
		f.settle(nil)
	}
	if got := f.set("v3").Annotations[clusterv1alpha1.RevisionAnnotation]; got != "3" || len(f.sets) != 1 {
		t.Errorf("revision %s of %d sets, want 3 of the only one", got, len(f.sets))
	}
}

func TestDeployment_UpdatesSetsInPlace(t *testing.T) {
	f := newFixture(t, 2, count(1), count(0))
	f.d.Spec.Template.Metadata.Labels["node-role.kubernetes.io/worker"] = ""
	f.settle(nil)
	name := f.set("v1").Name
	delete(f.d.Spec.Template.Metadata.Labels, "node-role.kubernetes.io/worker")
	f.d.Spec.Template.Spec.MinReadySeconds = ptr.To[int32](7)
	f.d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
	f.d.Spec.Deletion.Order = clusterv1alpha1.OldestMachineSetDeletionOrder
	f.d.Annotations = withEntry(f.d.Annotations, ChangeCauseAnnotation, "slower drains")
	f.settle(nil)
	s := f.set("v1")
	if s.Name != name || len(f.sets) != 1 {
		t.Fatalf("there are %d sets, the current one is %s, want %s alone", len(f.sets), s.Name, name)
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
