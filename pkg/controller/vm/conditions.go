// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// setCondition sets a condition of vm as seen at now.
func setCondition(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&vm.Status.Conditions, now, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: vm.Generation,
	})
}

func setTrue(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string) {
	setCondition(vm, now, conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

func setFalse(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType, reason, message string) {
	setCondition(vm, now, conditionType, metav1.ConditionFalse, reason, message)
}

func findCondition(vm *vmv1alpha1.VirtualMachine, conditionType string) *metav1.Condition {
	return conditions.Find(vm.Status.Conditions, conditionType)
}

func isTrue(vm *vmv1alpha1.VirtualMachine, conditionType string) bool {
	return conditions.IsTrue(vm.Status.Conditions, conditionType)
}
