// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Synchronizer computes changes of a virtual machine, which is the caller's own copy
// and is changed. vmi, which is not changed, is nil while the virtual machine does not
// run. The result is vm itself or what takes its place, also when there is an error, and
// conditions to report. One without a status is to be removed.
type Synchronizer interface {
	Sync(ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error)
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
	// Conditions to report, without times. One without a status is to be removed.
	Conditions []metav1.Condition
	// Effective is its effective spec; nil when there is none, for the reason that the
	// error and the conditions give.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Captured are the revisions that VM names by its status only since this pass. They
	// exist, and Ensure has to be called again once the status is written.
	Captured []*itv1alpha1.ControllerRevision
}

// Sync runs all synchronizers on vm, which is the caller's own copy and is changed,
// each on the result of the one before, and reports the condition Synchronized. Failures
// are joined.
func (c Chain) Sync(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance,
) (Result, error) {
	instancetypes := &Instancetype{
		sources:   instancetype.GatherLive(ctx, vm, c.options.Reader),
		revisions: c.options.Revisions, policy: c.options.Policy,
	}
	result := Result{VM: vm}
	var failures []error
	for _, s := range []Synchronizer{
		// Before the effective spec is computed, which has their defaults.
		Network{}, Firmware{},
		instancetypes, Class{of: instancetypes},
	} {
		next, reported, err := s.Sync(ctx, result.VM, vmi)
		result.VM, result.Conditions = next, append(result.Conditions, reported...)
		if err != nil {
			failures = append(failures, err)
		}
	}
	err := errors.Join(failures...)
	result.Conditions = append(result.Conditions, condition(vmv1alpha1.ConditionSynchronized, err))
	result.Effective, result.Captured = instancetypes.effective, instancetypes.captured
	return result, err
}

// condition returns a condition that is True, or False with the reason and message of err.
func condition(conditionType string, err error) metav1.Condition {
	if err != nil {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: instancetype.Reason(err), Message: err.Error()}
	}
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
}

// Network gives the default interface to a virtual machine that has none and
// whose network is not disabled. The creation strategy does the same, so only
// objects that came another way are changed. Where a preference may say that there is
// none, the spec stays as it is, and the effective spec has the interface or not.
type Network struct{}

// Sync implements Synchronizer.
func (Network) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	if n := vm.Spec.Network; vm.DeletionTimestamp != nil || vm.Spec.Preference != nil || n != nil && (n.Disabled || len(n.Interfaces) > 0) {
		return vm, nil, nil
	}
	if vm.Spec.Network == nil {
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	vm.Spec.Network.Interfaces = []vmv1alpha1.VirtualMachineNetworkInterface{apply.DefaultInterface()}
	return vm, nil, nil
}

// Firmware gives a BIOS UUID to a virtual machine that has none. The UID of the
// object decides it, so that a repeated pass gives the same one. The creation strategy
// does the same, so only objects that came another way are changed.
type Firmware struct{}

// Sync implements Synchronizer.
func (Firmware) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	if vm.DeletionTimestamp != nil || vm.Spec.Firmware != nil && vm.Spec.Firmware.UUID != "" {
		return vm, nil, nil
	}
	if vm.UID == "" {
		return vm, nil, fmt.Errorf("choosing the BIOS UUID of virtual machine %s/%s: it has no UID", vm.Namespace, vm.Name)
	}
	if vm.Spec.Firmware == nil {
		vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
	}
	vm.Spec.Firmware.UUID = apply.FirmwareUUID(vm.UID)
	return vm, nil, nil
}

// Class keeps status.class and reports the condition ClassReady.
type Class struct {
	// of has gathered the class, and reports what is wrong in the combination; here it
	// only decides the condition.
	of *Instancetype
}

// Sync implements Synchronizer.
func (s Class) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	if vm.Spec.ClassName == "" {
		vm.Status.Class = nil
		return vm, []metav1.Condition{{Type: vmv1alpha1.ConditionClassReady}}, nil
	}
	class, err := s.of.sources.Class()
	if err != nil {
		return vm, []metav1.Condition{condition(vmv1alpha1.ConditionClassReady, err)}, err
	}
	vm.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: class.Name, Generation: class.Generation}
	// What a preference requires is said with the preference.
	problems := s.of.part(func(p apply.Problem) bool { return p.Kind != apply.RequirementProblem })
	return vm, []metav1.Condition{condition(vmv1alpha1.ConditionClassReady, problems)}, nil
}
