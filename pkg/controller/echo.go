// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Echoes knows the updates by which the watch will tell of our own status writes. They
// are no news: the pass that wrote knew all that is in them, and has said itself when
// the next one is due.
type Echoes[T Object] struct {
	status func(T) any

	mu       sync.Mutex
	expected map[types.NamespacedName]echo[T]
}

// NewEchoes makes echoes of a kind whose status is returned by status.
func NewEchoes[T Object](status func(T) any) *Echoes[T] {
	return &Echoes[T]{status: status, expected: map[types.NamespacedName]echo[T]{}}
}

// echo is the update that a write of a status over a version of the object makes.
type echo[T Object] struct {
	base    string
	written T
}

// Expect is called before the status of obj is written over the resource version that
// obj has, because the watch may be faster than the answer. From then on obj must not
// be changed.
func (e *Echoes[T]) Expect(obj T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected[KeyOf(obj)] = echo[T]{base: obj.GetResourceVersion(), written: obj}
}

// Forget is called when a write failed, or the object is gone.
func (e *Echoes[T]) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.expected, key)
}

// Heard says whether the update from old to obj is an echo, which is not expected again
// then. After a relist the update may hold what somebody else has written since, so that
// all of it has to be as we left it.
func (e *Echoes[T]) Heard(old, obj T) bool {
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

// sameMeta compares what tells of a write other than one of status. The spec is compared
// by its generation.
func sameMeta(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() &&
		a.GetDeletionTimestamp().Equal(b.GetDeletionTimestamp()) &&
		equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) &&
		equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) &&
		equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
