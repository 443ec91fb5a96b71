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

// indexByRevision finds virtual machines, instances and snapshots by namespace/name of the
// revisions that they name.
const indexByRevision = "revision"

// named is the index function.
func named(obj any) ([]string, error) {
	var keys []string
	for _, key := range namedKeys(obj) {
		keys = append(keys, key.String())
	}
	return keys, nil
}

// namedKeys are the revisions that a virtual machine, an instance or a snapshot names.
func namedKeys(obj any) []types.NamespacedName {
	var names []string
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachine:
		names = instancetype.NamedBy(o)
	case *vmv1alpha1.VirtualMachineInstance:
		names = instancetype.NamedByInstance(o)
	case *vmv1alpha1.VirtualMachineSnapshot:
		names = instancetype.NamedBySnapshot(o)
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

// users handles the events of what names revisions: those that it names no more are
// looked at. What exists at the start need not be, since all revisions are looked at.
func (c *Controller) users() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, obj any) {
			now := namedKeys(obj)
			for _, key := range namedKeys(old) {
				if !slices.Contains(now, key) {
					c.Look(key, 0)
				}
			}
			c.captured(old, obj)
		},
		DeleteFunc: func(obj any) {
			gone, ok := controller.WithoutTombstone[metav1.Object](obj)
			if !ok {
				return
			}
			for _, key := range namedKeys(gone) {
				c.Look(key, 0)
			}
		},
	}
}

// captured looks at all revisions of the namespace once a virtual machine has captured
// what it awaited, for which the superseded revision had to stay.
func (c *Controller) captured(oldObj, obj any) {
	old, ok := oldObj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return
	}
	vm, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok || !instancetype.Awaits(old) || instancetype.Awaits(vm) {
		return
	}
	_ = cache.ListAllByNamespace(c.revisions.GetIndexer(), vm.Namespace, labels.Everything(), func(o any) {
		c.Look(controller.KeyOf(o.(*itv1alpha1.ControllerRevision)), 0)
	})
}

// made handles the events of revisions. A new one is about to be named.
func (c *Controller) made() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			key := controller.KeyOf(obj.(*itv1alpha1.ControllerRevision))
			if isInInitialList {
				c.Look(key, 0)
				return
			}
			c.Look(key, controller.DefaultResyncPeriod)
		},
	}
}
