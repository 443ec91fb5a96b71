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

// fixture is a deployment with its sets and Machines. In each step the deployment is reconciled once, then each set.
// Then all created Machines become available unless they are broken.
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
	boot int
	made int
	// going and booting count these steps.
	going, booting map[string]int
}

func newFixture(t *testing.T, replicas int32, surge, unavailable intstr.IntOrString) *fixture {
	d := &deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "md", UID: "md", Generation: 1}}
	d.Spec.ClusterName, d.Spec.Replicas = "c", &replicas
	d.Spec.Selector.MatchLabels = map[string]string{"app": "md"}
	d.Spec.Template.Metadata.Labels = map[string]string{"app": "md"}
	d.Spec.Template.Spec.Version = "v1"
	d.Spec.Rollout.Strategy.RollingUpdate = clusterv1alpha1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable}
	return &fixture{t: t, now: begin, d: d, sets: map[string]*set{}, machines: map[string][]*machine{}, broken: map[string]bool{}, going: map[string]int{}, booting: map[string]int{}}
}

func (w *fixture) views() []*setState {
	var all []*setState
	for name, s := range w.sets {
		all = append(all, newSetState(s, w.machines[name]))
	}
	return all
}

func (w *fixture) taken(name string) bool { return w.sets[name] != nil }

func (w *fixture) plan() *plan { return newPlan(w.d, w.views(), w.taken, w.now) }

// reconcile reconciles the deployment and reports whether anything has changed.
func (w *fixture) reconcile() bool {
	p, changed := w.plan(), false
	for _, v := range p.all() {
		next := p.desired(v)
		if v.set.UID == "" {
			next.UID, next.CreationTimestamp = types.UID(next.Name), metav1.NewTime(w.now)
			if w.taken(next.Name) {
				w.t.Fatalf("set %s is created twice", next.Name)
			}
			w.sets[next.Name], changed, v.set = next, true, next
			continue
		}
		if !equality.Semantic.DeepEqual(next, v.set) {
			w.sets[next.Name], changed = next, true
		}
	}
	for _, v := range p.setsToDelete() {
		delete(w.sets, v.set.Name)
		changed = true
	}
	if p.current != nil && w.d.Annotations[clusterv1alpha1.RevisionAnnotation] != p.revision() {
		w.d.Annotations = withEntry(w.d.Annotations, clusterv1alpha1.RevisionAnnotation, p.revision())
	}
	return changed
}

// step performs a step of the sets and Machines.
func (w *fixture) step() bool {
	changed := false
	for name, s := range w.sets {
		mine := w.machines[name]
		for n := len(mine) - int(*s.Spec.Replicas); n < 0 && s.Annotations[clusterv1alpha1.DisableMachineCreateAnnotation] != "true"; n++ {
			w.made++
			m := &machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", s.Spec.Template.Spec.Version, w.made), CreationTimestamp: metav1.NewTime(w.now)}}
			m.Spec.Version = s.Spec.Template.Spec.Version
			mine, changed = append(mine, m), true
		}
		for _, m := range members.FirstToDelete(mine, len(mine)-int(*s.Spec.Replicas), s.Spec.Deletion.Order) {
			if m.DeletionTimestamp == nil {
				m.DeletionTimestamp, changed = &metav1.Time{Time: w.now}, true
				continue
			}
			if w.going[m.Name]++; w.going[m.Name] > w.slow {
				mine = slices.DeleteFunc(slices.Clone(mine), func(o *machine) bool { return o == m })
			}
			changed = true
		}
		for _, m := range mine {
			if m.DeletionTimestamp == nil && !w.broken[m.Spec.Version] && !members.IsAvailable(m) {
				if w.booting[m.Name]++; w.booting[m.Name] > w.boot {
					w.setAvailable(m, true)
				}
				changed = true
			}
		}
		w.machines[name] = mine
	}
	w.now = w.now.Add(time.Minute)
	return changed
}

// setAvailable sets whether a Machine is available.
func (w *fixture) setAvailable(m *machine, ok bool) {
	status := metav1.ConditionFalse
	if m.Status.NodeRef.Name = ""; ok {
		status, m.Status.NodeRef.Name = metav1.ConditionTrue, m.Name
	}
	for _, kind := range []string{clusterv1alpha1.ReadyCondition, clusterv1alpha1.AvailableCondition} {
		conditions.Set(&m.Status.Conditions, w.now, metav1.Condition{Type: kind, Status: status, Reason: "Test"})
	}
}

// settle performs steps until nothing changes, and calls each after every step.
func (w *fixture) settle(each func()) {
	w.t.Helper()
	for range 1000 {
		changed := w.reconcile()
		changed = w.step() || changed
		if each != nil {
			each()
		}
		if !changed {
			return
		}
	}
	w.t.Fatalf("it does not settle: %s", w)
}

// String returns the number of Machines and of available Machines for each version.
func (w *fixture) String() string {
	n, ok := map[string]int{}, map[string]int{}
	for _, all := range w.machines {
		for _, m := range all {
			if n[m.Spec.Version]++; members.IsAvailable(m) {
				ok[m.Spec.Version]++
			}
		}
	}
	var out []string
	for version := range n {
		out = append(out, fmt.Sprintf("%s:%d/%d", version, ok[version], n[version]))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// set returns the set of a version.
func (w *fixture) set(version string) *set {
	w.t.Helper()
	var found *set
	for _, s := range w.sets {
		if s.Spec.Template.Spec.Version == version && (found == nil || *s.Spec.Replicas > *found.Spec.Replicas) {
			found = s
		}
	}
	if found == nil {
		w.t.Fatalf("there is no set of %s", version)
	}
	return found
}

func (w *fixture) total() (all, available int) {
	for _, machines := range w.machines {
		all += len(machines)
		for _, m := range machines {
			if members.IsAvailable(m) {
				available++
			}
		}
	}
	return all, available
}

func (w *fixture) expectMachines(what, want string) {
	w.t.Helper()
	if got := w.String(); got != want {
		w.t.Errorf("%s: Machines are %s, want %s", what, got, want)
	}
}

func (w *fixture) replicas(n int32) { w.d.Spec.Replicas = ptr.To(n) }
func (w *fixture) version(v string) { w.d.Spec.Template.Spec.Version = v }
