// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// settle is how long news of members are gathered before a group is looked at: one of
// hundreds that are powered on at once hears of each several times.
const settle = 250 * time.Millisecond

// Indexes of groups by those that they name, and by the one that they name.
const (
	indexByMember = "member"
	indexByParent = "parent"
)

var indexers = cache.Indexers{
	indexByMember: controller.IndexBy(func(g *group) []string {
		var keys []string
		for _, m := range g.Members() {
			keys = append(keys, memberKey(cmp.Or(m.Kind, vmv1alpha1.MachineMemberKind), g.Namespace, m.Name))
		}
		return keys
	}),
	indexByParent: controller.IndexBy(func(g *group) []string {
		if g.Spec.GroupName == "" {
			return nil
		}
		return []string{g.Namespace + "/" + g.Spec.GroupName}
	}),
}

func memberKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// indexed are the groups that an index has under value.
func (c *Controller) indexed(index, value string) []*group {
	return controller.Indexed[*group](c.groups.GetIndexer(), index, value)
}

// above queues the groups that name a member, of which there is news.
func (c *Controller) above(kind string, o metav1.Object) {
	for _, g := range c.indexed(indexByMember, memberKey(kind, o.GetNamespace(), o.GetName())) {
		c.Look(controller.KeyOf(g), settle)
	}
}

// below queues the groups in g, and those in them: whether they are linked depends on it.
func (c *Controller) below(g *group) {
	known := map[string]bool{g.Name: true}
	for level := []*group{g}; len(level) > 0; {
		var next []*group
		for _, at := range level {
			for _, child := range c.indexed(indexByParent, at.Namespace+"/"+at.Name) {
				if !known[child.Name] {
					known[child.Name] = true
					next = append(next, child)
					c.Look(controller.KeyOf(child), 0)
				}
			}
		}
		level = next
	}
}

// groupHandler handles the events of groups. What only their own status says was written
// here, and is news for the groups that they are in, and for those in them that are asked
// for something else.
func (c *Controller) groupHandler() cache.ResourceEventHandler {
	all := func(g *group) {
		c.above(vmv1alpha1.GroupMemberKind, g)
		c.below(g)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			g := obj.(*group)
			c.Look(controller.KeyOf(g), 0)
			if !isInInitialList {
				all(g)
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, g := oldObj.(*group), obj.(*group)
			if old.UID != g.UID || old.Generation != g.Generation {
				c.Look(controller.KeyOf(g), 0)
				all(g)
				return
			}
			if tells(&old.Status) != tells(&g.Status) {
				c.above(vmv1alpha1.GroupMemberKind, g)
			}
			for _, child := range c.indexed(indexByParent, g.Namespace+"/"+g.Name) {
				if asks(old, child.Name) != asks(g, child.Name) {
					c.Look(controller.KeyOf(child), 0)
				}
			}
		},
		DeleteFunc: func(obj any) {
			if g, ok := controller.WithoutTombstone[*group](obj); ok {
				all(g)
			}
		},
	}
}

// tells is what a group is to the one that it is in.
func tells(st *vmv1alpha1.VirtualMachineGroupStatus) [4]any {
	return [4]any{st.ObservedGeneration, st.PowerState, brief(st.Conditions, vmv1alpha1.ConditionPowerStateSynced), brief(st.Conditions, vmv1alpha1.ConditionReady)}
}

// asks is what g asks of a group in it.
func asks(g *group, name string) vmv1alpha1.PowerState {
	if m := g.Member(vmv1alpha1.GroupMemberKind, name); m != nil {
		return m.DesiredPowerState
	}
	return ""
}

// machineHandler handles the events of virtual machines that groups name.
func (c *Controller) machineHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				c.above(vmv1alpha1.MachineMemberKind, obj.(metav1.Object))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if shows(old) != shows(vm) {
				c.above(vmv1alpha1.MachineMemberKind, vm)
			}
		},
		DeleteFunc: func(obj any) {
			if vm, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				c.above(vmv1alpha1.MachineMemberKind, vm)
			}
		},
	}
}

// shows is what a virtual machine is to a group.
func shows(vm *vmv1alpha1.VirtualMachine) [8]any {
	st := &vm.Status
	return [8]any{
		vm.UID, vm.DeletionTimestamp == nil, vm.Spec.GroupName, vm.Spec.PowerState, st.PowerState, st.InheritedPowerState,
		brief(st.Conditions, vmv1alpha1.ConditionCreated), brief(st.Conditions, vmv1alpha1.ConditionReady),
	}
}

// brief is status and reason of a condition.
func brief(all []metav1.Condition, kind string) string {
	if c := conditions.Find(all, kind); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}
