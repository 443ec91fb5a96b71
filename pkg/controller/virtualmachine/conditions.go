// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// setCondition sets a condition of vm as seen at now; the transition time of a
// condition whose status stays the same is kept.
func setCondition(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&vm.Status.Conditions, metav1.Condition{
		Type:               conditionType,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: vm.Generation,
		// The wire format has whole seconds. Keeping more here would make an
		// object that was read differ from the one that was written.
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}

func setTrue(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string) {
	setCondition(vm, now, conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

func setFalse(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType, reason, message string) {
	setCondition(vm, now, conditionType, metav1.ConditionFalse, reason, message)
}

func findCondition(vm *vmv1alpha1.VirtualMachine, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(vm.Status.Conditions, conditionType)
}
