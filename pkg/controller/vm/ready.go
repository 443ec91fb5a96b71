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

// setReady sums the conditions up in Ready.
func setReady(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition, now time.Time) {
	c := readiness(vm, probed)
	setCondition(vm, now, vmv1alpha1.ConditionReady, c.Status, c.Reason, c.Message)
}

// readiness is True when the virtual machine is as its spec wants it. probed is
// asked last, and only of one that runs as desired.
func readiness(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition) metav1.Condition {
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		return naming(vm, because(vm, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites))
	}
	if c := unreachable(vm); c != nil {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: c.Reason, Message: c.Message}
	}
	desired := desiredPowerState(vm)
	if desired != vm.Status.PowerState {
		return because(vm, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.TransitionTo(desired))
	}
	if desired == vmv1alpha1.PoweredOff {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonPoweredOff}
	}
	if desired == vmv1alpha1.Suspended {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
	}
	if waitsForIP(vm) {
		return isFalse(vmv1alpha1.ReasonWaitingForIP, "the guest has no address yet")
	}
	if waitsForTools(vm) {
		return isFalse(vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run in the guest yet")
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
func because(vm *vmv1alpha1.VirtualMachine, conditionType, reason string) metav1.Condition {
	if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
		return isFalse(c.Reason, c.Message)
	}
	return isFalse(reason, "")
}

func isFalse(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// naming tells of a virtual machine that waits for prerequisites which it lacks: a Machine shows
// no other condition of it than Ready.
func naming(vm *vmv1alpha1.VirtualMachine, v metav1.Condition) metav1.Condition {
	if v.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
		return v
	}
	for _, conditionType := range vmv1alpha1.CreatePrerequisites {
		if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
			v.Message = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason))
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
