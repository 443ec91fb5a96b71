// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Priorities by the kind of event, for an object whose state asks for nothing. All
// are below 0, which is what other users of a queue would take. The values are those of
// VM Operator's documentation.
const (
	// PriorityDefaultCreate is for the initial list.
	PriorityDefaultCreate = -1
	// PriorityDefaultUpdate is for updates, those that change nothing included.
	PriorityDefaultUpdate = -2
	// PriorityDefaultDelete is for delete events.
	PriorityDefaultDelete = -3
	// PriorityDefaultGeneric is for resyncs, hints and events of other objects.
	PriorityDefaultGeneric = -4
)

// Enqueuer turns events into keys with a priority.
type Enqueuer[T Object] struct {
	// Queue takes the keys.
	Queue priorityqueue.Interface[types.NamespacedName]
	// Objects are those that the keys are of.
	Objects Store[T]
	// Echoes are the updates that are left out. Handler requires them.
	Echoes *Echoes[T]
	// Priority is the one that the state of an object asks for, or else fallback. Nil stands for fallback.
	Priority func(obj T, fallback int) int
	// Mine, if there is one, is false for an object of which another process takes care:
	// it is not queued.
	Mine func(obj T) bool
	// Waits, if there is one, is true for an object of the initial list that need not
	// be queued yet. Any later event queues it all the same.
	Waits func(obj T) bool
	// News, if there is one, is told of every object that was made or changed by
	// somebody else; old is nil for one that was made. It must not block.
	News func(old, obj T)
}

// Evaluate queues obj with the priority that its state asks for.
func (e *Enqueuer[T]) Evaluate(obj T, fallback int) {
	e.add(obj, e.priority(obj, fallback))
}

func (e *Enqueuer[T]) priority(obj T, fallback int) int {
	if e.Priority == nil {
		return fallback
	}
	return e.Priority(obj, fallback)
}

func (e *Enqueuer[T]) add(obj T, priority int) {
	if e.mine(obj) {
		e.Queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, KeyOf(obj))
	}
}

func (e *Enqueuer[T]) mine(obj T) bool { return e.Mine == nil || e.Mine(obj) }

// listed queues obj as one of the initial list.
func (e *Enqueuer[T]) listed(obj T) {
	if e.mine(obj) && (e.Waits == nil || !e.Waits(obj)) {
		e.add(obj, PriorityDefaultCreate)
	}
}

// Gained queues the objects that share is true for like those of the initial list: from
// now on they are this process's.
func (e *Enqueuer[T]) Gained(share func(obj T) bool) {
	for _, obj := range e.Objects.informed.List() {
		if o := obj.(T); share(o) {
			e.listed(o)
		}
	}
}

// known returns the object of key, if there is one.
func (e *Enqueuer[T]) known(key types.NamespacedName) (T, bool) {
	var none T
	obj, err := e.Objects.Get(key)
	return obj, err == nil && obj != none
}

// Has is true for the key of an object that exists and is this process's.
func (e *Enqueuer[T]) Has(key types.NamespacedName) bool {
	obj, ok := e.known(key)
	return ok && e.mine(obj)
}

// Generic queues the object of key for something that happened elsewhere. One that is
// not known is left alone: it is queued when it appears.
func (e *Enqueuer[T]) Generic(key types.NamespacedName) {
	if obj, ok := e.known(key); ok {
		e.Evaluate(obj, PriorityDefaultGeneric)
	}
}

// Again is the priority of a key that is queued again after a pass, for
// Options.Priority.
func (e *Enqueuer[T]) Again(key types.NamespacedName) int {
	obj, ok := e.known(key)
	if !ok {
		return PriorityDefaultGeneric
	}
	return e.priority(obj, PriorityDefaultGeneric)
}

// Handler handles the events of the objects themselves. The initial list takes its
// default without a look at the state, so that a restart does not put thousands of old
// objects before the one that was just made; so does an update that changed nothing.
// The echo of our own write is not queued.
func (e *Enqueuer[T]) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			added := obj.(T)
			if isInInitialList {
				e.listed(added)
				return
			}
			var none T
			e.news(none, added)
			e.Evaluate(added, PriorityDefaultCreate)
		},
		UpdateFunc: func(oldObj, obj any) {
			old, updated := oldObj.(T), obj.(T)
			switch {
			case old.GetResourceVersion() == updated.GetResourceVersion():
				e.add(updated, PriorityDefaultUpdate)
			case !e.Echoes.Heard(old, updated):
				e.news(old, updated)
				e.Evaluate(updated, PriorityDefaultUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := WithoutTombstone[T](obj); ok {
				e.Echoes.Forget(KeyOf(gone))
				e.Evaluate(gone, PriorityDefaultDelete)
			}
		},
	}
}

// Edits handles the events of objects whose status is written only by their controller: an update of nothing else is
// left out. deleted is called with an object that was deleted.
func (e *Enqueuer[T]) Edits(deleted func(obj T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { e.Evaluate(obj.(T), PriorityDefaultCreate) },
		UpdateFunc: func(old, obj any) {
			if updated := obj.(T); Edited(old.(T), updated) {
				e.Evaluate(updated, PriorityDefaultUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := WithoutTombstone[T](obj); ok {
				deleted(gone)
			}
		},
	}
}

func (e *Enqueuer[T]) news(old, obj T) {
	if e.News != nil && e.mine(obj) {
		e.News(old, obj)
	}
}

// Referring queues the objects that the index finds under value.
func (e *Enqueuer[T]) Referring(index, value string) {
	ours, err := e.Objects.informed.ByIndex(index, value)
	if err != nil {
		return // only for an index that does not exist
	}
	for _, o := range ours {
		e.Generic(KeyOf(o.(T)))
	}
}

// Related handles the events of objects that ours refer to: those that the index finds
// under value are queued. The initial list is left out, because every object of ours is
// queued by its own.
func (e *Enqueuer[T]) Related(index string, value func(metav1.Object) string) cache.ResourceEventHandler {
	wake := func(obj any) {
		if object, ok := WithoutTombstone[metav1.Object](obj); ok {
			e.Referring(index, value(object))
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
