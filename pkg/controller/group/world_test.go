// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	on        = vmv1alpha1.PoweredOn
	off       = vmv1alpha1.PoweredOff
	suspended = vmv1alpha1.Suspended
)

// world is a namespace with groups and VMs. Its VMs take their desired power state immediately, unless they are held.
type world struct {
	t      *testing.T
	now    time.Time
	groups map[string]*group
	vms    map[string]*vmv1alpha1.VirtualMachine
	// until is the requeue time of each group.
	until map[string]time.Time
	// held VMs ignore their group; unready VMs never become Ready.
	held, unready map[string]bool
	// order has the VMs in the order of their power changes.
	order []string
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), groups: map[string]*group{}, vms: map[string]*vmv1alpha1.VirtualMachine{},
		until: map[string]time.Time{}, held: map[string]bool{}, unready: map[string]bool{},
	}
}

// step returns a step with members. A name with a slash is that of a group.
func step(members ...string) vmv1alpha1.VirtualMachineGroupStep {
	var s vmv1alpha1.VirtualMachineGroupStep
	for _, name := range members {
		kind := vmv1alpha1.MachineMemberKind
		if bare, ok := strings.CutPrefix(name, "group/"); ok {
			kind, name = vmv1alpha1.GroupMemberKind, bare
		}
		s.Members = append(s.Members, vmv1alpha1.VirtualMachineGroupMember{Kind: kind, Name: name})
	}
	return s
}

// waits returns a step with waitFor Ready.
func waits(members ...string) vmv1alpha1.VirtualMachineGroupStep {
	s := step(members...)
	s.WaitFor = vmv1alpha1.WaitForReady
	return s
}

// group adds a group with its VMs, which are powered off.
func (w *world) group(name string, state vmv1alpha1.PowerState, steps ...vmv1alpha1.VirtualMachineGroupStep) *group {
	g := &group{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       vmv1alpha1.VirtualMachineGroupSpec{PowerState: state, BootOrder: steps},
	}
	w.groups[name] = g
	for _, m := range g.Members() {
		if m.Kind == vmv1alpha1.MachineMemberKind {
			w.vm(m.Name, name)
		}
	}
	return g
}

// vm adds a VM that is powered off.
func (w *world) vm(name, of string) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID("uid-" + name)}}
	vm.Spec.GroupName, vm.Status.PowerState = of, off
	w.condition(vm, vmv1alpha1.ConditionCreated, true)
	w.condition(vm, vmv1alpha1.ConditionReady, true)
	w.vms[name] = vm
	return vm
}

func (w *world) condition(vm *vmv1alpha1.VirtualMachine, kind string, ok bool) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "Waiting"}
	if ok {
		c.Status, c.Reason = metav1.ConditionTrue, "Succeeded"
	}
	conditions.Set(&vm.Status.Conditions, w.now, c)
}

func (w *world) findGroup(name string) *group                  { return w.groups[name] }
func (w *world) findVM(name string) *vmv1alpha1.VirtualMachine { return w.vms[name] }
func (w *world) set(name string, state vmv1alpha1.PowerState) {
	w.edit(name, func(g *group) { g.Spec.PowerState = state })
}
func (w *world) told(name, member string) vmv1alpha1.PowerState {
	return w.member(name, member).DesiredPowerState
}
func (w *world) power(name string) vmv1alpha1.PowerState { return w.vms[name].Status.PowerState }
func (w *world) conditionOf(name, kind string) (is, message string) {
	return says(w.groups[name].Status.Conditions, kind)
}

func says(all []metav1.Condition, kind string) (is, message string) {
	c := conditions.Find(all, kind)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

func (w *world) edit(name string, change func(*group)) {
	g := w.groups[name].DeepCopy()
	change(g)
	g.Generation++
	w.groups[name] = g
}

func (w *world) member(name, member string) *vmv1alpha1.VirtualMachineGroupMemberStatus {
	w.t.Helper()
	member, isGroup := strings.CutPrefix(member, "group/")
	kind := vmv1alpha1.MachineMemberKind
	if isGroup {
		kind = vmv1alpha1.GroupMemberKind
	}
	m := w.groups[name].MemberStatus(kind, member)
	if m == nil {
		w.t.Fatalf("group %s has no member %s", name, member)
	}
	return m
}

// settle reconciles all groups and VMs until nothing changes.
func (w *world) settle() {
	w.t.Helper()
	for range 1000 {
		changed := false
		for name, g := range w.groups {
			status, until := decide(g, w.findVM, w.findGroup, w.now)
			w.until[name] = until
			if !equal(&g.Status, status) {
				next := g.DeepCopy()
				next.Status = *status
				w.groups[name], changed = next, true
			}
		}
		for name, vm := range w.vms {
			if !w.held[name] && w.follow(vm) {
				changed = true
			}
		}
		if !changed {
			return
		}
	}
	w.t.Fatal("it does not come to rest")
}

// follow does the work of the VM controller and reports whether it changed anything.
func (w *world) follow(vm *vmv1alpha1.VirtualMachine) bool {
	before := vm.DeepCopy()
	vm.Status.InheritedPowerState = ""
	if g := w.groups[vm.Spec.GroupName]; g != nil && vm.Spec.PowerState == "" && g.HasMember(vmv1alpha1.MachineMemberKind, vm.Name) {
		if m := g.MemberStatus(vmv1alpha1.MachineMemberKind, vm.Name); m != nil {
			vm.Status.InheritedPowerState = m.DesiredPowerState
		}
	}
	if state := vm.DesiredPowerState(vm.Status.PowerState); conditions.IsTrue(vm.Status.Conditions, vmv1alpha1.ConditionCreated) && state != vm.Status.PowerState {
		vm.Status.PowerState = state
		w.order = append(w.order, vm.Name+" "+string(state))
	}
	w.condition(vm, vmv1alpha1.ConditionReady, vm.Status.PowerState != on || !w.unready[vm.Name])
	return !equal(before, vm)
}

// pass advances the clock to the next requeue, at most by d, and settles.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.settle()
	for end := w.now.Add(d); ; w.settle() {
		next := end
		for _, until := range w.until {
			if until.After(w.now) && until.Before(next) {
				next = until
			}
		}
		if w.now = next; !next.Before(end) {
			w.settle()
			return
		}
	}
}
