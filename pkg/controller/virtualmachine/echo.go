// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
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
	base   string
	status *vmv1alpha1.VirtualMachineStatus
}

// expect is called before the status of vm is written over the resource version that
// vm has, because the watch may be faster than the answer.
func (e *echoes) expect(vm *vmv1alpha1.VirtualMachine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.expected == nil {
		e.expected = map[types.NamespacedName]echo{}
	}
	e.expected[keyOf(vm)] = echo{base: vm.ResourceVersion, status: &vm.Status}
}

// forget is called when a write failed, or the virtual machine is gone.
func (e *echoes) forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.expected, key)
}

// heard says whether the update from old to vm is an echo, which is not expected again
// then. Since a write fails unless it meets the version that it was made for, nothing
// but the status is different.
func (e *echoes) heard(old, vm *vmv1alpha1.VirtualMachine) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected, ok := e.expected[keyOf(vm)]
	if !ok || expected.base != old.ResourceVersion || !equality.Semantic.DeepEqual(expected.status, &vm.Status) {
		return false
	}
	delete(e.expected, keyOf(vm))
	return true
}
