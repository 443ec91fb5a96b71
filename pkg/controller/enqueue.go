// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Priorities by the kind of event, for an object whose state needs no other priority. All are below 0, the default of
// other users of a queue. The values are those in VM Operator's documentation.
const (
	// PriorityDefaultCreate is for the initial list.
	PriorityDefaultCreate = -1
	// PriorityDefaultUpdate is for updates, including those that change nothing.
	PriorityDefaultUpdate = -2
	// PriorityDefaultDelete is for delete events.
	PriorityDefaultDelete = -3
	// PriorityDefaultGeneric is for resyncs, vCenter events and events of related objects.
	PriorityDefaultGeneric = -4
)

// Enqueuer turns events into keys with a priority.
type Enqueuer[T Object] struct {
	// Queue is the queue that keys are added to.
	Queue priorityqueue.Interface[types.NamespacedName]
	// Objects reads the objects that the keys identify.
	Objects Store[T]
	// Echoes recognizes the updates that are ignored. Handler requires it.
	Echoes *Echoes[T]
	// Priority returns the priority that an object's state needs, or fallback. If Priority is nil, fallback is used.
	Priority func(obj T, fallback int) int
	// IsOwned reports whether this process reconciles an object. Objects of other processes are not queued. If IsOwned
	// is nil, this process reconciles all objects.
	IsOwned func(obj T) bool
	// CanWait, if set, reports whether an object of the initial list need not be queued yet. Any later event queues it.
	CanWait func(obj T) bool
	// OnChange, if set, is called for every object that another client created or changed. old is nil for a created
	// object. OnChange must not block.
	OnChange func(old, obj T)
}

// Enqueue queues obj with the priority that its state needs, or fallback.
func (e *Enqueuer[T]) Enqueue(obj T, fallback int) {
	e.add(obj, e.priority(obj, fallback))
}

func (e *Enqueuer[T]) priority(obj T, fallback int) int {
	if e.Priority == nil {
		return fallback
	}
	return e.Priority(obj, fallback)
}

func (e *Enqueuer[T]) add(obj T, priority int) {
	if e.isMine(obj) {
		e.Queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, KeyOf(obj))
	}
}

func (e *Enqueuer[T]) isMine(obj T) bool { return e.IsOwned == nil || e.IsOwned(obj) }

// addListed queues an object of the initial list.
func (e *Enqueuer[T]) addListed(obj T) {
	if e.isMine(obj) && (e.CanWait == nil || !e.CanWait(obj)) {
		e.add(obj, PriorityDefaultCreate)
	}
}

// EnqueueGained queues the objects for which isGained returns true, with the priority of the initial list. It is called
// when this process begins to reconcile them.
func (e *Enqueuer[T]) EnqueueGained(isGained func(obj T) bool) {
	for _, obj := range e.Objects.informed.List() {
		if o := obj.(T); isGained(o) {
			e.addListed(o)
		}
	}
}

// get returns the object of key, if it exists.
func (e *Enqueuer[T]) get(key types.NamespacedName) (T, bool) {
	var none T
	obj, err := e.Objects.Get(key)
	return obj, err == nil && obj != none
}

// Has reports whether the object of key exists and is reconciled by this process.
func (e *Enqueuer[T]) Has(key types.NamespacedName) bool {
	obj, ok := e.get(key)
	return ok && e.isMine(obj)
}

// EnqueueGeneric queues the object of key because of an event of another object or of vCenter. It ignores an unknown object,
// which is queued when it appears.
func (e *Enqueuer[T]) EnqueueGeneric(key types.NamespacedName) {
	if obj, ok := e.get(key); ok {
		e.Enqueue(obj, PriorityDefaultGeneric)
	}
}

// RequeuePriority returns the priority of a key that is queued again after a reconcile. It is used as Options.Priority.
func (e *Enqueuer[T]) RequeuePriority(key types.NamespacedName) int {
	obj, ok := e.get(key)
	if !ok {
		return PriorityDefaultGeneric
	}
	return e.priority(obj, PriorityDefaultGeneric)
}

// Handler returns a handler of the events of the objects themselves. Objects of the initial list get their default
// priority, whatever their state is. So after a restart thousands of old objects are not queued before a new one. An
// update that changed nothing gets the default priority too. Echoes of this process's own writes are not queued.
func (e *Enqueuer[T]) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			added := obj.(T)
			if isInInitialList {
				e.addListed(added)
				return
			}
			var none T
			e.callOnChange(none, added)
			e.Enqueue(added, PriorityDefaultCreate)
		},
		UpdateFunc: func(oldObj, obj any) {
			old, updated := oldObj.(T), obj.(T)
			switch {
			case old.GetResourceVersion() == updated.GetResourceVersion():
				e.add(updated, PriorityDefaultUpdate)
			case !e.Echoes.IsEcho(old, updated):
				e.callOnChange(old, updated)
				e.Enqueue(updated, PriorityDefaultUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if deleted, ok := WithoutTombstone[T](obj); ok {
				e.Echoes.Forget(KeyOf(deleted))
				e.Enqueue(deleted, PriorityDefaultDelete)
			}
		},
	}
}

// EditHandler returns a handler of the events of objects whose status is written only by their controller. It ignores updates
// that change only the status, and calls deleted with each deleted object.
func (e *Enqueuer[T]) EditHandler(deleted func(obj T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { e.Enqueue(obj.(T), PriorityDefaultCreate) },
		UpdateFunc: func(old, obj any) {
			if updated := obj.(T); SpecChanged(old.(T), updated) {
				e.Enqueue(updated, PriorityDefaultUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if removed, ok := WithoutTombstone[T](obj); ok {
				deleted(removed)
			}
		},
	}
}

func (e *Enqueuer[T]) callOnChange(old, obj T) {
	if e.OnChange != nil && e.isMine(obj) {
		e.OnChange(old, obj)
	}
}

// EnqueueIndexed queues the objects that an index has under value.
func (e *Enqueuer[T]) EnqueueIndexed(index, value string) {
	ours, err := e.Objects.informed.ByIndex(index, value)
	if err != nil {
		return // only for an index that does not exist
	}
	for _, o := range ours {
		e.EnqueueGeneric(KeyOf(o.(T)))
	}
}

// RelatedHandler returns a handler of the events of objects that this controller's objects refer to. It queues the objects
// that the index has under value. Objects of the initial list are ignored, because each of this controller's objects is
// queued by its own initial list.
func (e *Enqueuer[T]) RelatedHandler(index string, value func(metav1.Object) string) cache.ResourceEventHandler {
	wake := func(obj any) {
		if object, ok := WithoutTombstone[metav1.Object](obj); ok {
			e.EnqueueIndexed(index, value(object))
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
