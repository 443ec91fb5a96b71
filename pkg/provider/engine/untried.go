// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// untried reports whether nobody but this process can have tried to create the
// vSphere VM of vm. Such a virtual machine may be created while the inventory is
// read for the first time, which is the one exception to the rule that nothing is
// planned for what is unknown.
//
// Why that is safe:
//
//  1. The instance UUID of the vSphere VM is the UID of the object, which no
//     object had before. Whoever makes a vSphere VM with it has read the object;
//     one that names an instance UUID or another provider ID than its own is excluded.
//  2. Since alone, this process is the only one that works on virtual machines.
//     The time of creation in an object is cut to the second before, so that an
//     object with one that is not before alone was made after alone: whoever
//     worked before had ended by then and cannot have read it.
//  3. What this process has tried itself it knows, for it runs one operation of a
//     virtual machine at a time, and every create begins by asking vSphere for the
//     instance UUID and ends by reading what was made.
//
// If a clock was set back, so that 2 is wrong, 3 still holds, and a request of the
// one before that vSphere has not carried out yet has the same name in the same
// folder as ours, which vSphere refuses. A create after the inventory was read has
// no better protection: the inventory does not show such a request either.
func untried(vm *vmv1alpha1.VirtualMachine, alone time.Time) bool {
	return !alone.IsZero() && !vm.CreationTimestamp.Time.Before(alone) &&
		vm.DeletionTimestamp == nil &&
		vm.Spec.InstanceUUID == "" && !vm.NamesAnotherVM() &&
		vm.Status.UniqueID == "" && vm.Status.InstanceUUID == "" &&
		!meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
}
