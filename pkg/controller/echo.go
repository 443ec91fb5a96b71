// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Echoes recognizes the watch events that this process's own status writes cause. These events need no reconcile: the
// reconcile that wrote the status knew its contents and has already scheduled the next one.
type Echoes[T Object] struct {
	status func(T) any

	mu       sync.Mutex
	expected map[types.NamespacedName]echo[T]
}

// NewEchoes returns the Echoes of a kind. The function status returns an object's status.
func NewEchoes[T Object](status func(T) any) *Echoes[T] {
	return &Echoes[T]{status: status, expected: map[types.NamespacedName]echo[T]{}}
}

// echo is the update that is expected from a status write: the resource version before it and the written object.
type echo[T Object] struct {
	base    string
	written T
}

// Expect must be called before the status of obj is written, because the watch event can arrive before the response.
// obj has the resource version that the write replaces. It must not be changed afterwards.
func (e *Echoes[T]) Expect(obj T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected[KeyOf(obj)] = echo[T]{base: obj.GetResourceVersion(), written: obj}
}

// Forget removes the expected update. It is called when a write failed or the object is deleted.
func (e *Echoes[T]) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.expected, key)
}

// IsEcho reports whether the update from old to obj is an echo. An echo is reported once. All of the object is compared,
// because an update after a relist can also contain later changes by other clients.
func (e *Echoes[T]) IsEcho(old, obj T) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected, ok := e.expected[KeyOf(obj)]
	if !ok || expected.base != old.GetResourceVersion() || !sameMeta(expected.written, obj) ||
		!equality.Semantic.DeepEqual(e.status(expected.written), e.status(obj)) {
		return false
	}
	delete(e.expected, KeyOf(obj))
	return true
}

// sameMeta compares the metadata that writes other than status writes change. A change of the spec changes the
// generation.
func sameMeta(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() &&
		a.GetDeletionTimestamp().Equal(b.GetDeletionTimestamp()) &&
		equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) &&
		equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) &&
		equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
