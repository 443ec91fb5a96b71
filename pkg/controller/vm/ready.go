// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// verdict is the status of a condition, with its reason.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

// setReady sums the conditions up in Ready.
func setReady(vm *vmv1alpha1.VirtualMachine, probed verdict, now time.Time) {
	v := readiness(vm, probed)
	setCondition(vm, now, vmv1alpha1.ConditionReady, v.status, v.reason, v.message)
}

// readiness is True when the virtual machine is as its spec wants it. probed is
// asked last, and only of one that runs as desired.
func readiness(vm *vmv1alpha1.VirtualMachine, probed verdict) verdict {
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		return naming(vm, because(vm, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites))
	}
	if c := unreachable(vm); c != nil {
		return verdict{metav1.ConditionUnknown, c.Reason, c.Message}
	}
	desired := desiredPowerState(vm)
	if desired != vm.Status.PowerState {
		return because(vm, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.TransitionTo(desired))
	}
	if desired == vmv1alpha1.PoweredOff {
		return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonPoweredOff}
	}
	if desired == vmv1alpha1.Suspended {
		return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonSucceeded}
	}
	if waitsForIP(vm) {
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForIP, "the guest has no address yet"}
	}
	if waitsForTools(vm) {
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run in the guest yet"}
	}
	return probed
}

// unreachable returns what says that vCenter has the virtual machine and cannot reach or
// read it, so that what status tells is of an earlier time; nil when it can.
func unreachable(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	c := findCondition(vm, vmv1alpha1.ConditionConfigurationSynced)
	if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != vmv1alpha1.ReasonUnknownState {
		return nil
	}
	return c
}

// because is False with reason and message of another condition if that is False.
func because(vm *vmv1alpha1.VirtualMachine, conditionType, reason string) verdict {
	if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
		return verdict{metav1.ConditionFalse, c.Reason, c.Message}
	}
	return verdict{status: metav1.ConditionFalse, reason: reason}
}

// naming tells of a virtual machine that waits for prerequisites which it lacks: a Machine shows
// no other condition of it than Ready.
func naming(vm *vmv1alpha1.VirtualMachine, v verdict) verdict {
	if v.reason != vmv1alpha1.ReasonWaitingForPrerequisites {
		return v
	}
	for _, conditionType := range vmv1alpha1.CreatePrerequisites {
		if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
			v.message = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason))
			break
		}
	}
	return v
}

// waitsForTools says whether readiness depends on VMware Tools, which do not run.
func waitsForTools(vm *vmv1alpha1.VirtualMachine) bool {
	wanted := vm.Spec.Bootstrap != nil && vm.Spec.Bootstrap.WaitForTools
	if p := vm.Spec.ReadinessProbe; p != nil && (p.GuestHeartbeat != nil || len(p.GuestInfo) > 0) {
		wanted = true
	}
	return wanted && (vm.Status.Guest == nil || !vm.Status.Guest.ToolsRunning)
}
