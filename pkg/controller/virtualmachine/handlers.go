// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// enqueuer turns events into keys with a priority.
type enqueuer struct {
	queue    priorityqueue.Interface[types.NamespacedName]
	vms      store[*vmv1alpha1.VirtualMachine]
	own      *echoes
	indexer  cache.Indexer
	recorder events.EventRecorder
	// unread is true for a virtual machine that nothing can be done about before the
	// provider has read it, which it then tells.
	unread func(*vmv1alpha1.VirtualMachine) bool
}

func (e *enqueuer) add(key types.NamespacedName, priority int) {
	e.queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, key)
}

// evaluate queues vm with the priority that its state asks for.
func (e *enqueuer) evaluate(vm *vmv1alpha1.VirtualMachine, fallback int) {
	priority, _ := Priority(vm, fallback)
	e.add(keyOf(vm), priority)
}

// generic queues the virtual machine of key for something that happened elsewhere.
// One that is not known is left alone: it is queued when it appears.
func (e *enqueuer) generic(key types.NamespacedName) {
	if vm, err := e.vms.get(key); err == nil && vm != nil {
		e.evaluate(vm, PriorityDefaultGeneric)
	}
}

// priority is what a key has that is queued again after a pass.
func (e *enqueuer) priority(key types.NamespacedName) int {
	vm, err := e.vms.get(key)
	if err != nil || vm == nil {
		return PriorityDefaultGeneric
	}
	priority, _ := Priority(vm, PriorityDefaultGeneric)
	return priority
}

// virtualMachines handles the events of virtual machines. The initial list takes
// its default without a look at the state, so that a restart does not put
// thousands of old virtual machines before the one that was just made; so does an
// update that changed nothing. The echo of our own write is not queued.
func (e *enqueuer) virtualMachines() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			vm := obj.(*vmv1alpha1.VirtualMachine)
			if isInInitialList {
				if !e.waits(vm) {
					e.add(keyOf(vm), PriorityDefaultCreate)
				}
				return
			}
			e.warnOfInvalidPriority(nil, vm)
			e.evaluate(vm, PriorityDefaultCreate)
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.ResourceVersion == vm.ResourceVersion {
				e.add(keyOf(vm), PriorityDefaultUpdate)
				return
			}
			if e.own.heard(old, vm) {
				return
			}
			e.warnOfInvalidPriority(old, vm)
			e.evaluate(vm, PriorityDefaultUpdate)
		},
		DeleteFunc: func(obj any) {
			if vm, ok := withoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				e.own.forget(keyOf(vm))
				e.evaluate(vm, PriorityDefaultDelete)
			}
		},
	}
}

// waits is true for a virtual machine that exists in vSphere as far as its status says
// and that the provider has yet to read: a pass could only find that out, and after a
// restart there are thousands of them. Any later event queues it all the same.
func (e *enqueuer) waits(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.DeletionTimestamp == nil && isTrue(vm, vmv1alpha1.ConditionCreated) && e.unread(vm)
}

// warnOfInvalidPriority tells the user once that the override annotation is
// ignored.
func (e *enqueuer) warnOfInvalidPriority(old, vm *vmv1alpha1.VirtualMachine) {
	_, invalid := Priority(vm, 0)
	if invalid == nil {
		return
	}
	const name = vmv1alpha1.AnnotationReconcilePriority
	if old != nil && old.UID == vm.UID && old.Annotations[name] == vm.Annotations[name] {
		return
	}
	e.recorder.Eventf(vm, nil, corev1.EventTypeWarning, "InvalidPriority", actionEvaluate, "%s", invalid.Error())
}

// instances handles the events of instances that somebody else changed or deleted:
// the virtual machine of the same name puts them right. Changes of status are ours, and
// so is the end of the instance of a virtual machine that does not run.
func (e *enqueuer) instances() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, vmi := oldObj.(*vmv1alpha1.VirtualMachineInstance), obj.(*vmv1alpha1.VirtualMachineInstance)
			if old.Generation != vmi.Generation || (old.DeletionTimestamp == nil) != (vmi.DeletionTimestamp == nil) {
				e.generic(keyOf(vmi))
			}
		},
		DeleteFunc: func(obj any) {
			vmi, ok := withoutTombstone[*vmv1alpha1.VirtualMachineInstance](obj)
			if !ok {
				return
			}
			if vm, err := e.vms.get(keyOf(vmi)); err == nil && vm != nil && runs(vm) {
				e.evaluate(vm, PriorityDefaultGeneric)
			}
		},
	}
}

// related handles the events of objects that virtual machines refer to: those that
// the index finds are queued. The initial list is left out, because every virtual
// machine is queued by its own.
func (e *enqueuer) related(index string, value func(metav1.Object) string) cache.ResourceEventHandler {
	wake := func(obj any) {
		object, ok := withoutTombstone[metav1.Object](obj)
		if !ok {
			return
		}
		vms, err := e.indexer.ByIndex(index, value(object))
		if err != nil {
			return // only for an index that does not exist
		}
		for _, vm := range vms {
			e.generic(keyOf(vm.(*vmv1alpha1.VirtualMachine)))
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				wake(obj)
			}
		},
		UpdateFunc: func(old, obj any) {
			if old.(metav1.Object).GetResourceVersion() != obj.(metav1.Object).GetResourceVersion() {
				wake(obj)
			}
		},
		DeleteFunc: wake,
	}
}

// byName is the index value of a class or an image.
func byName(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// bySource returns the index value of an instance type or a preference of kind.
func bySource(kind instancetype.Kind) func(metav1.Object) string {
	return func(o metav1.Object) string { return sourceKey(kind, o.GetNamespace(), o.GetName()) }
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
