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

// fixture is a namespace with groups and VMs. Its VMs take their desired power state immediately, unless they are held.
type fixture struct {
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

func newFixture(t *testing.T) *fixture {
	return &fixture{
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

// awaited returns a step with waitFor Ready.
func awaited(members ...string) vmv1alpha1.VirtualMachineGroupStep {
	s := step(members...)
	s.WaitFor = vmv1alpha1.WaitForReady
	return s
}

// group adds a group with its VMs, which are powered off.
func (f *fixture) group(name string, state vmv1alpha1.PowerState, steps ...vmv1alpha1.VirtualMachineGroupStep) *group {
	g := &group{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       vmv1alpha1.VirtualMachineGroupSpec{PowerState: state, BootOrder: steps},
	}
	f.groups[name] = g
	for _, m := range g.Members() {
		if m.Kind == vmv1alpha1.MachineMemberKind {
			f.vm(m.Name, name)
		}
	}
	return g
}

// vm adds a VM that is powered off.
func (f *fixture) vm(name, of string) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID("uid-" + name)}}
	vm.Spec.GroupName, vm.Status.PowerState = of, off
	f.condition(vm, vmv1alpha1.ConditionCreated, true)
	f.condition(vm, vmv1alpha1.ConditionReady, true)
	f.vms[name] = vm
	return vm
}

func (f *fixture) condition(vm *vmv1alpha1.VirtualMachine, conditionType string, ok bool) {
	c := metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: "Waiting"}
	if ok {
		c.Status, c.Reason = metav1.ConditionTrue, "Succeeded"
	}
	conditions.Set(&vm.Status.Conditions, f.now, c)
}

func (f *fixture) findGroup(name string) *group                  { return f.groups[name] }
func (f *fixture) findVM(name string) *vmv1alpha1.VirtualMachine { return f.vms[name] }
func (f *fixture) set(name string, state vmv1alpha1.PowerState) {
	f.edit(name, func(g *group) { g.Spec.PowerState = state })
}
func (f *fixture) desiredState(name, member string) vmv1alpha1.PowerState {
	return f.member(name, member).DesiredPowerState
}
func (f *fixture) power(name string) vmv1alpha1.PowerState { return f.vms[name].Status.PowerState }
func (f *fixture) conditionOf(name, conditionType string) (is, message string) {
	return conditionText(f.groups[name].Status.Conditions, conditionType)
}

func conditionText(all []metav1.Condition, conditionType string) (is, message string) {
	c := conditions.Find(all, conditionType)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

func (f *fixture) edit(name string, change func(*group)) {
	g := f.groups[name].DeepCopy()
	change(g)
	g.Generation++
	f.groups[name] = g
}

func (f *fixture) member(name, member string) *vmv1alpha1.VirtualMachineGroupMemberStatus {
	f.t.Helper()
	member, isGroup := strings.CutPrefix(member, "group/")
	kind := vmv1alpha1.MachineMemberKind
	if isGroup {
		kind = vmv1alpha1.GroupMemberKind
	}
	m := f.groups[name].MemberStatus(kind, member)
	if m == nil {
		f.t.Fatalf("group %s has no member %s", name, member)
	}
	return m
}

// settle reconciles all groups and VMs until nothing changes.
func (f *fixture) settle() {
	f.t.Helper()
	for range 1000 {
		changed := false
		for name, g := range f.groups {
			status, until := decide(g, f.findVM, f.findGroup, f.now)
			f.until[name] = until
			if !equal(&g.Status, status) {
				next := g.DeepCopy()
				next.Status = *status
				f.groups[name], changed = next, true
			}
		}
		for name, vm := range f.vms {
			if !f.held[name] && f.applyDesiredState(vm) {
				changed = true
			}
		}
		if !changed {
			return
		}
	}
	f.t.Fatal("it does not come to rest")
}

// follow does the work of the VM controller and reports whether it changed anything.
func (f *fixture) applyDesiredState(vm *vmv1alpha1.VirtualMachine) bool {
	before := vm.DeepCopy()
	vm.Status.InheritedPowerState = ""
	if g := f.groups[vm.Spec.GroupName]; g != nil && vm.Spec.PowerState == "" && g.HasMember(vmv1alpha1.MachineMemberKind, vm.Name) {
		if m := g.MemberStatus(vmv1alpha1.MachineMemberKind, vm.Name); m != nil {
			vm.Status.InheritedPowerState = m.DesiredPowerState
		}
	}
	if state := vm.DesiredPowerState(vm.Status.PowerState); conditions.IsTrue(vm.Status.Conditions, vmv1alpha1.ConditionCreated) && state != vm.Status.PowerState {
		vm.Status.PowerState = state
		f.order = append(f.order, vm.Name+" "+string(state))
	}
	f.condition(vm, vmv1alpha1.ConditionReady, vm.Status.PowerState != on || !f.unready[vm.Name])
	return !equal(before, vm)
}

// advance advances the clock to the next requeue, at most by d, and settles.
func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	f.settle()
	for end := f.now.Add(d); ; f.settle() {
		next := end
		for _, until := range f.until {
			if until.After(f.now) && until.Before(next) {
				next = until
			}
		}
		if f.now = next; !next.Before(end) {
			f.settle()
			return
		}
	}
}
