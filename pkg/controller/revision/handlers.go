// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// indexByRevision is the name of the index of VMs, instances and snapshots by the namespace/name of their revisions.
const indexByRevision = "revision"

// byRevision is the index function.
func byRevision(obj any) ([]string, error) {
	var keys []string
	for _, key := range revisionKeys(obj) {
		keys = append(keys, key.String())
	}
	return keys, nil
}

// revisionKeys returns the revisions that a VM, an instance or a snapshot refers to.
func revisionKeys(obj any) []types.NamespacedName {
	var names []string
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachine:
		names = instancetype.RevisionsOfVM(o)
	case *vmv1alpha1.VirtualMachineInstance:
		names = instancetype.RevisionsOfInstance(o)
	case *vmv1alpha1.VirtualMachineSnapshot:
		names = instancetype.RevisionsOfSnapshot(o)
	default:
		return nil
	}
	namespace := obj.(metav1.Object).GetNamespace()
	keys := make([]types.NamespacedName, len(names))
	for i, name := range names {
		keys[i] = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return keys
}

// userHandler returns a handler that enqueues the revisions that an object no longer refers to. It ignores added objects,
// because all revisions are enqueued at the start.
func (c *Controller) userHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, obj any) {
			now := revisionKeys(obj)
			for _, key := range revisionKeys(old) {
				if !slices.Contains(now, key) {
					c.EnqueueAfter(key, 0)
				}
			}
			c.refreshCompleted(old, obj)
		},
		DeleteFunc: func(obj any) {
			deleted, ok := controller.WithoutTombstone[metav1.Object](obj)
			if !ok {
				return
			}
			for _, key := range revisionKeys(deleted) {
				c.EnqueueAfter(key, 0)
			}
		},
	}
}

// refreshCompleted enqueues all revisions of the namespace when a VM has pinned the new revision of a refresh: the previous
// one was needed until then.
func (c *Controller) refreshCompleted(oldObj, obj any) {
	old, ok := oldObj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return
	}
	vm, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok || !instancetype.AwaitsRevision(old) || instancetype.AwaitsRevision(vm) {
		return
	}
	_ = cache.ListAllByNamespace(c.revisions.GetIndexer(), vm.Namespace, labels.Everything(), func(o any) {
		c.EnqueueAfter(controller.KeyOf(o.(*itv1alpha1.ControllerRevision)), 0)
	})
}

// revisionHandler returns a handler that enqueues revisions. A new one is delayed, because an object is about to refer to it.
func (c *Controller) revisionHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			key := controller.KeyOf(obj.(*itv1alpha1.ControllerRevision))
			if isInInitialList {
				c.EnqueueAfter(key, 0)
				return
			}
			c.EnqueueAfter(key, controller.DefaultResyncPeriod)
		},
	}
}
