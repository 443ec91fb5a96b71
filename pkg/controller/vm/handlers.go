// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
	"github.com/slipway-dev/slipway/pkg/controller/vm/group"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// enqueuer turns events into keys of virtual machines.
type enqueuer struct {
	controller.Enqueuer[*vmv1alpha1.VirtualMachine]
	recorder events.EventRecorder
	// isUnread reports whether nothing can be done for a virtual machine before the provider has read it. The provider
	// then sends an event.
	isUnread func(*vmv1alpha1.VirtualMachine) bool
}

func newEnqueuer(
	queue priorityqueue.Interface[types.NamespacedName], vms controller.Store[*vmv1alpha1.VirtualMachine],
	own *controller.Echoes[*vmv1alpha1.VirtualMachine], recorder events.EventRecorder, unread func(*vmv1alpha1.VirtualMachine) bool,
) *enqueuer {
	e := &enqueuer{recorder: recorder, isUnread: unread}
	e.Enqueuer = controller.Enqueuer[*vmv1alpha1.VirtualMachine]{
		Queue: queue, Objects: vms, Echoes: own, CanWait: e.canWait, OnChange: e.warnOfInvalidPriority,
		Priority: func(vm *vmv1alpha1.VirtualMachine, fallback int) int {
			priority, _ := Priority(vm, fallback)
			return priority
		},
	}
	return e
}

// newEchoes returns the Echoes of the controller's own status writes.
func newEchoes() *controller.Echoes[*vmv1alpha1.VirtualMachine] {
	return controller.NewEchoes(func(vm *vmv1alpha1.VirtualMachine) any { return &vm.Status })
}

// canWait reports whether a virtual machine exists in vSphere according to its status and the provider has not read it
// yet. A reconcile would do nothing for it, and after a restart there are thousands of them.
func (e *enqueuer) canWait(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.DeletionTimestamp == nil && isTrue(vm, vmv1alpha1.ConditionCreated) && e.isUnread(vm)
}

// warnOfInvalidPriority records one event if the override annotation is ignored.
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

// instanceHandler returns a handler of the events of instances that another client changed or deleted. The virtual
// machine of the same name corrects them. Changes of status are the controller's own. So is the deletion of the
// instance of a virtual machine that does not run.
func (e *enqueuer) instanceHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, vmi := oldObj.(*vmv1alpha1.VirtualMachineInstance), obj.(*vmv1alpha1.VirtualMachineInstance)
			if old.Generation != vmi.Generation || (old.DeletionTimestamp == nil) != (vmi.DeletionTimestamp == nil) {
				e.EnqueueGeneric(controller.KeyOf(vmi))
			}
		},
		DeleteFunc: func(obj any) {
			vmi, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachineInstance](obj)
			if !ok {
				return
			}
			if vm, err := e.Objects.Get(controller.KeyOf(vmi)); err == nil && vm != nil && step.HasRunningInstance(vm) {
				e.Enqueue(vm, controller.PriorityDefaultGeneric)
			}
		},
	}
}

// relatedBy returns a function that creates handlers. A handler queues the virtual machines that index has under a
// value of an object.
func (e *enqueuer) relatedBy(index string) claims.Related {
	return func(by func(metav1.Object) string) cache.ResourceEventHandler { return e.RelatedHandler(index, by) }
}

// byName returns the index value of a class or an image.
func byName(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// bySource returns a function that returns the index value of an instance type or a preference of kind.
func bySource(kind instancetype.Kind) func(metav1.Object) string {
	return func(o metav1.Object) string { return sourceKey(kind, o.GetNamespace(), o.GetName()) }
}

// zoneHandler returns a handler of the events of Zones and VCenters. Virtual machines without a zone are queued,
// because they may now be created. Changes of status alone are ignored: their virtual machines are requeued after a
// delay. The virtual machines of a new zone are also queued: their vCenter, and so their replica, was unknown before,
// and no replica handled their events.
func (e *enqueuer) zoneHandler() cache.ResourceEventHandler {
	all := e.RelatedHandler(indexUnplaced, func(metav1.Object) string { return "" }).(cache.ResourceEventHandlerDetailedFuncs)
	add := all.AddFunc
	all.AddFunc = func(obj any, isInInitialList bool) {
		add(obj, isInInitialList)
		if z, ok := obj.(*vmv1alpha1.Zone); ok && !isInInitialList {
			e.EnqueueGained(func(vm *vmv1alpha1.VirtualMachine) bool { return provider.ZoneOf(vm) == z.Name })
		}
	}
	wake := all.UpdateFunc
	all.UpdateFunc = func(old, obj any) {
		if old.(metav1.Object).GetGeneration() != obj.(metav1.Object).GetGeneration() {
			wake(old, obj)
		}
	}
	return all
}

// groupHandler returns a handler of the events of groups. It queues the virtual machines of a group whose membership has
// changed.
func (e *enqueuer) groupHandler(vms cache.Indexer, groups *group.Reconciler) cache.ResourceEventHandler {
	wake := func(key string, old, updated *vmv1alpha1.VirtualMachineGroup) {
		named, err := vms.ByIndex(indexByGroup, key)
		if err != nil {
			return // only for an index that does not exist
		}
		if updated != nil && (old == nil || !vmrecord.SameGroup(old, updated)) {
			e.enqueueKeepers(groups, updated.Namespace, updated.Name)
		}
		for _, obj := range named {
			if vm := obj.(*vmv1alpha1.VirtualMachine); group.MemberOf(vm, old) != group.MemberOf(vm, updated) {
				e.EnqueueGeneric(controller.KeyOf(vm))
			}
		}
	}
	keyOf := func(group *vmv1alpha1.VirtualMachineGroup) string { return group.Namespace + "/" + group.Name }
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if group := obj.(*vmv1alpha1.VirtualMachineGroup); !isInInitialList {
				wake(keyOf(group), nil, group)
			}
		},
		UpdateFunc: func(old, obj any) {
			group := obj.(*vmv1alpha1.VirtualMachineGroup)
			wake(keyOf(group), old.(*vmv1alpha1.VirtualMachineGroup), group)
		},
		DeleteFunc: func(obj any) {
			if group, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachineGroup](obj); ok {
				wake(keyOf(group), group, nil)
			}
		},
	}
}

// enqueueKeepers queues the virtual machines that store a group and the groups that contain it.
func (e *enqueuer) enqueueKeepers(groups *group.Reconciler, namespace, name string) {
	for _, keeper := range groups.Namespace(namespace).StoringVMs(name) {
		e.EnqueueGeneric(types.NamespacedName{Namespace: namespace, Name: keeper})
	}
}

// memberHandler returns a handler of the events of virtual machines that join or leave groups. Another virtual machine
// may have to store the group then.
func (e *enqueuer) memberHandler(groups *group.Reconciler) cache.ResourceEventHandler {
	enqueue := func(vm *vmv1alpha1.VirtualMachine) {
		if vm.Spec.GroupName != "" {
			e.enqueueKeepers(groups, vm.Namespace, vm.Spec.GroupName)
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				enqueue(obj.(*vmv1alpha1.VirtualMachine))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.Spec.GroupName != vm.Spec.GroupName {
				enqueue(old)
				enqueue(vm)
			}
		},
		DeleteFunc: func(obj any) {
			if vm, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				enqueue(vm)
			}
		},
	}
}

// cacheHandler returns a handler of the events of image caches. Updates of the progress of copies are ignored, because
// no virtual machine waits for them.
func (e *enqueuer) cacheHandler() cache.ResourceEventHandler {
	all := e.RelatedHandler(indexByCache, func(o metav1.Object) string { return o.GetName() }).(cache.ResourceEventHandlerDetailedFuncs)
	wake := all.UpdateFunc
	all.UpdateFunc = func(old, obj any) {
		if !equality.Semantic.DeepEqual(imagecache.ReadyLocations(old), imagecache.ReadyLocations(obj)) {
			wake(old, obj)
		}
	}
	return all
}

// machineHandlers returns handlers of the events of Machines and Clusters.
func (e *enqueuer) machineHandlers() clusterapi.Handlers {
	return clusterapi.Handlers{
		Machine: func(group string, key types.NamespacedName) {
			e.EnqueueIndexed(indexByMachine, machineValue(group, key))
		},
		Cluster: func(_ string, key types.NamespacedName) { e.EnqueueIndexed(indexByCluster, key.String()) },
		Group:   func(group string) { e.EnqueueIndexed(indexByMachine, group) },
	}
}
