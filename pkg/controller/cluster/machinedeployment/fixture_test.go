// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fixture is a MachineDeployment with its MachineSets and Machines. In each step the MachineDeployment is reconciled
// once, then each MachineSet. Then all created Machines become available unless they are broken.
type fixture struct {
	t        *testing.T
	now      time.Time
	d        *deployment
	sets     map[string]*set
	machines map[string][]*machine // By set.
	// broken is true for versions whose Machines never become available.
	broken map[string]bool
	// slow is the number of steps for which deleted Machines remain.
	slow int
	// boot is the number of steps until a Machine is available.
	boot    int
	created int
	// deleting and booting count the elapsed steps of slow and boot, by Machine.
	deleting, booting map[string]int
}

func newFixture(t *testing.T, replicas int32, surge, unavailable intstr.IntOrString) *fixture {
	d := &deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "md", UID: "md", Generation: 1}}
	d.Spec.ClusterName, d.Spec.Replicas = "c", &replicas
	d.Spec.Selector.MatchLabels = map[string]string{"app": "md"}
	d.Spec.Template.Metadata.Labels = map[string]string{"app": "md"}
	d.Spec.Template.Spec.Version = "v1"
	d.Spec.Rollout.Strategy.RollingUpdate = clusterv1alpha1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable}
	return &fixture{t: t, now: begin, d: d, sets: map[string]*set{}, machines: map[string][]*machine{}, broken: map[string]bool{}, deleting: map[string]int{}, booting: map[string]int{}}
}

func (f *fixture) setStates() []*setState {
	var all []*setState
	for name, s := range f.sets {
		all = append(all, newSetState(s, f.machines[name]))
	}
	return all
}

func (f *fixture) isNameUsed(name string) bool { return f.sets[name] != nil }

func (f *fixture) plan() *plan { return newPlan(f.d, f.setStates(), f.isNameUsed, f.now) }

// reconcile reconciles the deployment and reports whether anything has changed.
func (f *fixture) reconcile() bool {
	p, changed := f.plan(), false
	for _, v := range p.all() {
		next := p.desired(v)
		if v.set.UID == "" {
			next.UID, next.CreationTimestamp = types.UID(next.Name), metav1.NewTime(f.now)
			if f.isNameUsed(next.Name) {
				f.t.Fatalf("set %s is created twice", next.Name)
			}
			f.sets[next.Name], changed, v.set = next, true, next
			continue
		}
		if !equality.Semantic.DeepEqual(next, v.set) {
			f.sets[next.Name], changed = next, true
		}
	}
	for _, v := range p.setsToDelete() {
		delete(f.sets, v.set.Name)
		changed = true
	}
	if p.current != nil && f.d.Annotations[clusterv1alpha1.RevisionAnnotation] != p.revision() {
		f.d.Annotations = withEntry(f.d.Annotations, clusterv1alpha1.RevisionAnnotation, p.revision())
	}
	return changed
}

// step performs a step of the sets and Machines.
func (f *fixture) step() bool {
	changed := false
	for name, s := range f.sets {
		mine := f.machines[name]
		for n := len(mine) - int(*s.Spec.Replicas); n < 0 && s.Annotations[clusterv1alpha1.DisableMachineCreateAnnotation] != "true"; n++ {
			f.created++
			m := &machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", s.Spec.Template.Spec.Version, f.created), CreationTimestamp: metav1.NewTime(f.now)}}
			m.Spec.Version = s.Spec.Template.Spec.Version
			mine, changed = append(mine, m), true
		}
		for _, m := range members.FirstToDelete(mine, len(mine)-int(*s.Spec.Replicas), s.Spec.Deletion.Order) {
			if m.DeletionTimestamp == nil {
				m.DeletionTimestamp, changed = &metav1.Time{Time: f.now}, true
				continue
			}
			if f.deleting[m.Name]++; f.deleting[m.Name] > f.slow {
				mine = slices.DeleteFunc(slices.Clone(mine), func(o *machine) bool { return o == m })
			}
			changed = true
		}
		for _, m := range mine {
			if m.DeletionTimestamp == nil && !f.broken[m.Spec.Version] && !members.IsAvailable(m) {
				if f.booting[m.Name]++; f.booting[m.Name] > f.boot {
					f.setAvailable(m, true)
				}
				changed = true
			}
		}
		f.machines[name] = mine
	}
	f.now = f.now.Add(time.Minute)
	return changed
}

// setAvailable sets whether a Machine is available.
func (f *fixture) setAvailable(m *machine, isAvailable bool) {
	status := metav1.ConditionFalse
	if m.Status.NodeRef.Name = ""; isAvailable {
		status, m.Status.NodeRef.Name = metav1.ConditionTrue, m.Name
	}
	for _, conditionType := range []string{clusterv1alpha1.ReadyCondition, clusterv1alpha1.AvailableCondition} {
		conditions.Set(&m.Status.Conditions, f.now, metav1.Condition{Type: conditionType, Status: status, Reason: "Test"})
	}
}

// settle performs steps until nothing changes, and calls each after every step.
func (f *fixture) settle(each func()) {
	f.t.Helper()
	for range 1000 {
		changed := f.reconcile()
		changed = f.step() || changed
		if each != nil {
			each()
		}
		if !changed {
			return
		}
	}
	f.t.Fatalf("the MachineSets still change after the last step: %s", f)
}

// String returns the number of Machines and of available Machines for each version.
func (f *fixture) String() string {
	n, available := map[string]int{}, map[string]int{}
	for _, all := range f.machines {
		for _, m := range all {
			if n[m.Spec.Version]++; members.IsAvailable(m) {
				available[m.Spec.Version]++
			}
		}
	}
	var out []string
	for version := range n {
		out = append(out, fmt.Sprintf("%s:%d/%d", version, available[version], n[version]))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// set returns the set of a version.
func (f *fixture) set(version string) *set {
	f.t.Helper()
	var found *set
	for _, s := range f.sets {
		if s.Spec.Template.Spec.Version == version && (found == nil || *s.Spec.Replicas > *found.Spec.Replicas) {
			found = s
		}
	}
	if found == nil {
		f.t.Fatalf("there is no set of %s", version)
	}
	return found
}

func (f *fixture) total() (all, available int) {
	for _, machines := range f.machines {
		all += len(machines)
		for _, m := range machines {
			if members.IsAvailable(m) {
				available++
			}
		}
	}
	return all, available
}

func (f *fixture) expectMachines(what, want string) {
	f.t.Helper()
	if got := f.String(); got != want {
		f.t.Errorf("%s: Machines are %s, want %s", what, got, want)
	}
}

func (f *fixture) replicas(n int32) { f.d.Spec.Replicas = ptr.To(n) }
func (f *fixture) version(v string) { f.d.Spec.Template.Spec.Version = v }
