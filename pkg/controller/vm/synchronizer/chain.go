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

// Synchronizer changes a virtual machine, which must be the caller's own copy. vmi is not changed. It is nil while the
// virtual machine does not run. Sync returns vm or its replacement, even if there is an error, and the conditions to
// report. A condition without a status must be removed.
type Synchronizer interface {
	Sync(ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error)
}

// RevisionStore creates and protects the revisions that a status refers to.
type RevisionStore interface {
	// Get reads the current revision from the API, uncached.
	Get(ctx context.Context, namespace, name string) (*itv1alpha1.ControllerRevision, error)
	// Create creates the revision. If the name is in use, it returns an error for which apierrors.IsAlreadyExists is
	// true.
	Create(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error)
	// Update replaces the revision's metadata, if the revision has not changed since it was read.
	Update(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error)
}

// Policy determines how references to instance types and preferences are handled.
type Policy string

const (
	// PolicyReference keeps the references and pins their revisions.
	PolicyReference Policy = "Reference"
	// PolicyExpand replaces the references of virtual machines without pinned revisions by the settings of the
	// referenced objects.
	PolicyExpand Policy = "Expand"
	// PolicyExpandAll replaces the references of all virtual machines.
	PolicyExpandAll Policy = "ExpandAll"
)

// Options has the dependencies of the synchronizers.
type Options struct {
	// Reader reads the objects that virtual machines refer to.
	Reader instancetype.Reader
	// Revisions stores pinned revisions.
	Revisions RevisionStore
	// Policy is the policy for references. The default is PolicyReference.
	Policy Policy
}

// Chain runs the synchronizers: network, firmware, instance type and class. All objects that they need are read once,
// at the beginning of a reconcile.
type Chain struct {
	options Options
}

// New returns a Chain.
func New(o Options) Chain { return Chain{options: o} }

// Result is the result of Chain.Sync.
type Result struct {
	// VM is the virtual machine with all changes.
	VM *vmv1alpha1.VirtualMachine
	// Conditions has the conditions to report, without times. A condition without a status must be removed.
	Conditions []metav1.Condition
	// Effective is the effective spec. It is nil if it cannot be computed; the error and the conditions have the
	// reason.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Pinned has the revisions that VM's status refers to only since this reconcile. They exist. EnsureRevision must be
	// called again after the status is written.
	Pinned []*itv1alpha1.ControllerRevision
}

// Sync runs all synchronizers, each with the result of the previous one, and reports the Synchronized condition. vm
// must be the caller's own copy. Errors are joined.
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
		// These run before the effective spec is computed, because it needs their defaults.
		Network{}, Firmware{},
		instancetypes, Class{instancetypes: instancetypes},
	} {
		next, reported, err := s.Sync(ctx, result.VM, vmi)
		result.VM, result.Conditions = next, append(result.Conditions, reported...)
		if err != nil {
			failures = append(failures, err)
		}
	}
	err := errors.Join(failures...)
	result.Conditions = append(result.Conditions, condition(vmv1alpha1.ConditionSynchronized, err))
	result.Effective, result.Pinned = instancetypes.effective, instancetypes.pinned
	return result, err
}

// condition returns a condition that is True, or False with the reason and message of err.
func condition(conditionType string, err error) metav1.Condition {
	if err != nil {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: instancetype.Reason(err), Message: err.Error()}
	}
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
}

// Network adds the default interface to a virtual machine that has no interface and whose network is not disabled. The
// create strategy of the API does the same, so this affects only objects that were stored in another way. If the
// virtual machine has a preference, the spec stays unchanged, because the preference may disable the interface in the
// effective spec.
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

// Firmware sets a BIOS UUID if a virtual machine has none. The UUID is derived from the object's UID, so repeated
// reconciles set the same one. The create strategy of the API does the same, so this affects only objects that were
// stored in another way.
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

// Class sets status.class and reports the ClassReady condition.
type Class struct {
	// instancetypes has read the class and found the problems of the combination. Class only derives the condition from
	// them.
	instancetypes *Instancetype
}

// Sync implements Synchronizer.
func (s Class) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, []metav1.Condition, error) {
	if vm.Spec.ClassName == "" {
		vm.Status.Class = nil
		return vm, []metav1.Condition{{Type: vmv1alpha1.ConditionClassReady}}, nil
	}
	class, err := s.instancetypes.sources.Class()
	if err != nil {
		return vm, []metav1.Condition{condition(vmv1alpha1.ConditionClassReady, err)}, err
	}
	vm.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: class.Name, Generation: class.Generation}
	// The preference's condition shows unmet requirements.
	problems := s.instancetypes.problemsFor(func(p apply.Problem) bool { return p.Kind != apply.RequirementProblem })
	return vm, []metav1.Condition{condition(vmv1alpha1.ConditionClassReady, problems)}, nil
}
