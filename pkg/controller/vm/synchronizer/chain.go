// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Synchronizer computes changes of a virtual machine, which is the caller's own copy
// and is changed. vmi, which is not changed, is nil while the virtual machine does not
// run. The result is vm itself or what takes its place, also when there is an error.
type Synchronizer interface {
	Sync(ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error)
}

// RevisionStore creates and keeps the revisions that status refers to.
type RevisionStore interface {
	// Get returns the revision as the API has it now, uncached.
	Get(ctx context.Context, namespace, name string) (*itv1alpha1.ControllerRevision, error)
	// Create creates the revision; apierrors.IsAlreadyExists recognises the
	// error when the name is taken.
	Create(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error)
	// Update replaces the metadata of the revision, if it is still as it was read.
	Update(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error)
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

// Chain runs the synchronizers: network, firmware, instance type, class. All that they
// decide by is read once, at the beginning of a pass.
type Chain struct {
	options Options
}

// New returns the chain.
func New(o Options) Chain { return Chain{options: o} }

// Result is what a pass knows after its synchronizers.
type Result struct {
	// VM is the virtual machine with all changes.
	VM *vmv1alpha1.VirtualMachine
	// Effective is its effective spec; nil when there is none, for the reason that the
	// error and the conditions give.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Captured are the revisions that VM names by its status only since this pass. They
	// exist, and Ensure has to be called again once the status is written.
	Captured []*itv1alpha1.ControllerRevision
}

// Sync runs all synchronizers on vm, which is the caller's own copy and is changed,
// each on the result of the one before, and sets the condition Synchronized. Failures
// are joined.
func (c Chain) Sync(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance,
) (Result, error) {
	instancetypes := &Instancetype{
		sources:   instancetype.GatherLive(ctx, vm, c.options.Reader),
		revisions: c.options.Revisions, policy: c.options.Policy, now: c.options.Now,
	}
	var failures []error
	for _, s := range []Synchronizer{
		// Before the effective spec is computed, which has their defaults.
		Network{}, Firmware{},
		instancetypes, Class{of: instancetypes},
	} {
		var err error
		if vm, err = s.Sync(ctx, vm, vmi); err != nil {
			failures = append(failures, err)
		}
	}
	err := errors.Join(failures...)
	setCondition(vm, vmv1alpha1.ConditionSynchronized, err, c.options.Now)
	return Result{VM: vm, Effective: instancetypes.effective, Captured: instancetypes.captured}, err
}
