// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package step has the types that the steps of a virtual machine's reconcile share. State is the input of a step, and
// Report is its result.
//
//  1. A step writes no condition. The conditions of all reports are merged into the status once, at the end of the
//     reconcile.
//  2. A step reads no condition that another step has reported in the same reconcile. Results of other steps are
//     passed to it as values.
package step

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// UnreadDelay is the delay for a vCenter or a Machine that cannot be read. An event is sent when it can be read again.
// The delay is only the fallback, and it is long because it affects all virtual machines at the same time.
const UnreadDelay = time.Minute

// State is the state of a virtual machine during a reconcile.
type State struct {
	// Original is the object that was read. It is never changed.
	Original *vmv1alpha1.VirtualMachine
	// VM is the copy that is written at the end. Its conditions are those of Original until the reports are merged. A
	// step changes only its own fields.
	VM *vmv1alpha1.VirtualMachine
	// Instance is the instance that was read, or nil if there is none. It is never changed.
	Instance *vmv1alpha1.VirtualMachineInstance
	// Effective is the effective spec. It is nil if the size or a preference could not be resolved.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Observed is the response of the provider.
	Observed Observed
	// Now is the time of the reconcile.
	Now time.Time
}

// Key returns the name of the virtual machine.
func (s *State) Key() types.NamespacedName { return controller.KeyOf(s.VM) }

// Observed is the response of the provider. The zero value means that there is no response.
type Observed struct {
	provider.Result
	// Created, Configured and Reverting summarize the conditions including those of the response. Created means that
	// the VM exists. Configured means that it matches its effective spec. Reverting means that a revert has begun and
	// the object is not restored.
	Created, Configured, Reverting bool
}

// Size returns the size that vSphere shows, or nil if it is not known.
func (o *Observed) Size() *vmv1alpha1.VirtualMachineResources {
	if o.Observation == nil || o.Observation.Resources == nil || o.Observation.Resources.VCPUs == 0 || o.Observation.Resources.Memory == nil {
		return nil
	}
	return o.Observation.Resources
}

// Report is the result of a step.
type Report struct {
	// Conditions are set in their order. A condition without a status is removed. A zero LastTransitionTime means the
	// time of the reconcile.
	Conditions []metav1.Condition
	// Wait is true if the step's result is not available yet.
	Wait bool
	// Next is the time of the next reconcile.
	Next controller.Result
}

// Set adds a condition.
func (r *Report) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	r.Conditions = append(r.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
}

// True adds a condition that is True.
func (r *Report) True(conditionType string) {
	r.Set(conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// False adds a condition that is False.
func (r *Report) False(conditionType, reason, message string) {
	r.Set(conditionType, metav1.ConditionFalse, reason, message)
}

// Remove removes a condition that does not apply.
func (r *Report) Remove(conditionType string) { r.Set(conditionType, "", "", "") }

// RequeueAfter requests another reconcile after a time. A time of 0 or less means immediately. The earliest request wins.
func (r *Report) RequeueAfter(after time.Duration) {
	if after <= 0 {
		r.Next.Requeue = true
	} else if r.Next.RequeueAfter == 0 || after < r.Next.RequeueAfter {
		r.Next.RequeueAfter = after
	}
}

// Add adds the conditions and the requested reconcile of another report.
func (r *Report) Add(other Report) {
	r.Conditions = append(r.Conditions, other.Conditions...)
	if other.Next.Requeue {
		r.RequeueAfter(0)
	}
	if other.Next.RequeueAfter > 0 {
		r.RequeueAfter(other.Next.RequeueAfter)
	}
}

// AddResult adds the conditions of a response of the provider.
func (r *Report) AddResult(result *provider.Result) {
	for _, conditionType := range result.Withdrawn {
		r.Remove(conditionType)
	}
	r.Conditions = append(r.Conditions, result.Conditions...)
}

// Merge returns the conditions of vm with those of the report. It changes neither.
func (r *Report) Merge(vm *vmv1alpha1.VirtualMachine, now time.Time) []metav1.Condition {
	if len(r.Conditions) == 0 {
		return vm.Status.Conditions
	}
	all := slices.Clone(vm.Status.Conditions)
	for _, c := range r.Conditions {
		if c.Status == "" {
			all = slices.DeleteFunc(all, func(is metav1.Condition) bool { return is.Type == c.Type })
			continue
		}
		c.ObservedGeneration = vm.Generation
		at := now
		if !c.LastTransitionTime.IsZero() {
			at = c.LastTransitionTime.Time
		}
		conditions.Set(&all, at, c)
	}
	return all
}

// Runs reports whether vSphere shows vm as powered on or suspended. The instance exists during that time.
func Runs(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.PowerState == vmv1alpha1.PoweredOn || vm.Status.PowerState == vmv1alpha1.Suspended
}

// HasIP reports whether the guest has an address.
func HasIP(vm *vmv1alpha1.VirtualMachine) bool {
	n := vm.Status.Network
	return n != nil && (n.PrimaryIP4 != "" || n.PrimaryIP6 != "")
}
