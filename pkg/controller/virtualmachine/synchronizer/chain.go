// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Synchronizer computes changes of a virtual machine. vmi is nil while the
// virtual machine does not run. Neither argument is changed; the result is vm
// itself or a changed copy, also when there is an error.
type Synchronizer interface {
	Sync(vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error)
}

// RevisionStore creates and keeps the revisions that status refers to.
type RevisionStore interface {
	// Get returns the revision as the API has it now, uncached.
	Get(namespace, name string) (*appsv1.ControllerRevision, error)
	// Create creates the revision; apierrors.IsAlreadyExists recognises the
	// error when the name is taken.
	Create(revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error)
	// Adopt makes vm an owner of the revision of its namespace called name, so that
	// it lives as long as vm. One that is an owner already is no error.
	Adopt(vm *vmv1alpha1.VirtualMachine, name string) error
}

// Policy says what becomes of references to instance types and preferences.
type Policy string

const (
	// PolicyReference keeps the references and captures revisions.
	PolicyReference Policy = "Reference"
	// PolicyExpand replaces the references of virtual machines that have no
	// captured revision by what they say.
	PolicyExpand Policy = "Expand"
	// PolicyExpandAll does so for all virtual machines.
	PolicyExpandAll Policy = "ExpandAll"
)

// Options are the dependencies of the synchronizers.
type Options struct {
	// Reader reads what virtual machines refer to.
	Reader instancetype.Reader
	// Revisions stores captured revisions.
	Revisions RevisionStore
	// Policy defaults to PolicyReference.
	Policy Policy
	// Now is the time of condition transitions.
	Now func() metav1.Time
}

// Chain runs synchronizers in order.
type Chain struct {
	synchronizers []Synchronizer
	now           func() metav1.Time
}

// New returns the chain instance type, class, network, firmware.
func New(o Options) Chain {
	return Chain{now: o.Now, synchronizers: []Synchronizer{
		&Instancetype{reader: o.Reader, revisions: o.Revisions, policy: o.Policy, now: o.Now},
		&Class{reader: o.Reader, now: o.Now},
		&Network{},
		&Firmware{},
	}}
}

// Sync runs all synchronizers, each on the result of the one before, and sets
// the condition Synchronized. Failures are joined.
func (c Chain) Sync(
	vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	current := vm
	var failures []error
	for _, s := range c.synchronizers {
		next, err := s.Sync(current, vmi)
		if err != nil {
			failures = append(failures, err)
		}
		if next != nil {
			current = next
		}
	}
	err := errors.Join(failures...)
	out := current.DeepCopy()
	setCondition(out, vmv1alpha1.ConditionSynchronized, err, c.now)
	return changed(current, out), err
}
