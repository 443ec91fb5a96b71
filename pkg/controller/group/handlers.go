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

// settleTime is how long events of members are collected before a group is reconciled. A group of hundreds of VMs receives
// several events for each of them.
const settleTime = 250 * time.Millisecond

// Indexes of groups by their members and by their parent.
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

// indexed returns the groups that an index has for value.
func (c *Controller) indexed(index, value string) []*group {
	return controller.Indexed[*group](c.groups.GetIndexer(), index, value)
}

// enqueueParents enqueues the groups that have a member.
func (c *Controller) enqueueParents(kind string, o metav1.Object) {
	for _, g := range c.indexed(indexByMember, memberKey(kind, o.GetNamespace(), o.GetName())) {
		c.EnqueueAfter(controller.KeyOf(g), settleTime)
	}
}

// enqueueDescendants enqueues all groups below g, because g decides whether they are linked.
func (c *Controller) enqueueDescendants(g *group) {
	known := map[string]bool{g.Name: true}
	for level := []*group{g}; len(level) > 0; {
		var next []*group
		for _, at := range level {
			for _, child := range c.indexed(indexByParent, at.Namespace+"/"+at.Name) {
				if !known[child.Name] {
					known[child.Name] = true
					next = append(next, child)
					c.EnqueueAfter(controller.KeyOf(child), 0)
				}
			}
		}
		level = next
	}
}

// groupHandler returns a handler for groups. A change of status, which this controller writes, enqueues the parent, and the
// children whose desired power state has changed.
func (c *Controller) groupHandler() cache.ResourceEventHandler {
	all := func(g *group) {
		c.enqueueParents(vmv1alpha1.GroupMemberKind, g)
		c.enqueueDescendants(g)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			g := obj.(*group)
			c.EnqueueAfter(controller.KeyOf(g), 0)
			if !isInInitialList {
				all(g)
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, g := oldObj.(*group), obj.(*group)
			if old.UID != g.UID || old.Generation != g.Generation {
				c.EnqueueAfter(controller.KeyOf(g), 0)
				all(g)
				return
			}
			if parentView(&old.Status) != parentView(&g.Status) {
				c.enqueueParents(vmv1alpha1.GroupMemberKind, g)
			}
			for _, child := range c.indexed(indexByParent, g.Namespace+"/"+g.Name) {
				if desiredOf(old, child.Name) != desiredOf(g, child.Name) {
					c.EnqueueAfter(controller.KeyOf(child), 0)
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

// parentView returns the part of a group's status that its parent reads.
func parentView(st *vmv1alpha1.VirtualMachineGroupStatus) [4]any {
	return [4]any{st.ObservedGeneration, st.PowerState, brief(st.Conditions, vmv1alpha1.ConditionPowerStateSynced), brief(st.Conditions, vmv1alpha1.ConditionReady)}
}

// desiredOf returns the desired power state of a child group.
func desiredOf(g *group, name string) vmv1alpha1.PowerState {
	if m := g.MemberStatus(vmv1alpha1.GroupMemberKind, name); m != nil {
		return m.DesiredPowerState
	}
	return ""
}

// machineHandler returns a handler that enqueues the groups of a VM.
func (c *Controller) machineHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				c.enqueueParents(vmv1alpha1.MachineMemberKind, obj.(metav1.Object))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if groupView(old) != groupView(vm) {
				c.enqueueParents(vmv1alpha1.MachineMemberKind, vm)
			}
		},
		DeleteFunc: func(obj any) {
			if vm, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				c.enqueueParents(vmv1alpha1.MachineMemberKind, vm)
			}
		},
	}
}

// groupView returns the part of a VM that its group reads.
func groupView(vm *vmv1alpha1.VirtualMachine) [8]any {
	st := &vm.Status
	return [8]any{
		vm.UID, vm.DeletionTimestamp == nil, vm.Spec.GroupName, vm.Spec.PowerState, st.PowerState, st.InheritedPowerState,
		brief(st.Conditions, vmv1alpha1.ConditionCreated), brief(st.Conditions, vmv1alpha1.ConditionReady),
	}
}

// brief returns the status and the reason of a condition.
func brief(all []metav1.Condition, conditionType string) string {
	if c := conditions.Find(all, conditionType); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}
