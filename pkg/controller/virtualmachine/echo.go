// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// echoes knows the updates by which the watch will tell of our own status writes. They
// are no news: the pass that wrote knew all that is in them, and has said itself when
// the next one is due. The zero value is ready for use.
type echoes struct {
	mu       sync.Mutex
	expected map[types.NamespacedName]echo
}

// echo is the update that a write of a status over a version of the object makes.
type echo struct {
	base    string
	written *vmv1alpha1.VirtualMachine
}

// expect is called before the status of vm is written over the resource version that
// vm has, because the watch may be faster than the answer.
func (e *echoes) expect(vm *vmv1alpha1.VirtualMachine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.expected == nil {
		e.expected = map[types.NamespacedName]echo{}
	}
	e.expected[keyOf(vm)] = echo{base: vm.ResourceVersion, written: vm}
}

// forget is called when a write failed, or the virtual machine is gone.
func (e *echoes) forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.expected, key)
}

// heard says whether the update from old to vm is an echo, which is not expected again
// then. After a relist the update may hold what somebody else has written since, so that
// all of it has to be as we left it.
func (e *echoes) heard(old, vm *vmv1alpha1.VirtualMachine) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected, ok := e.expected[keyOf(vm)]
	if !ok || expected.base != old.ResourceVersion || !sameMeta(expected.written, vm) ||
		!equality.Semantic.DeepEqual(expected.written.Status, vm.Status) {
		return false
	}
	delete(e.expected, keyOf(vm))
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
