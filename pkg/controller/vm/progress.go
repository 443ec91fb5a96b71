// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// setProgress tells tools that follow the kstatus convention what Ready does not: that
// vm cannot become what its spec says, or has yet to, although it is ready. Both
// conditions are there only while they are True, and never both.
func setProgress(vm *vmv1alpha1.VirtualMachine, now time.Time) {
	show := func(conditionType string, because *metav1.Condition) {
		if because == nil {
			meta.RemoveStatusCondition(&vm.Status.Conditions, conditionType)
			return
		}
		message := because.Type + " is " + string(because.Status)
		if because.Message != "" {
			message += ": " + because.Message
		}
		setCondition(vm, now, conditionType, metav1.ConditionTrue, because.Reason, message)
	}
	stalled := stalls(vm)
	var unfinished *metav1.Condition
	if c := findCondition(vm, vmv1alpha1.ConditionConfigurationSynced); stalled == nil && isTrue(vm, vmv1alpha1.ConditionReady) &&
		c != nil && c.Status == metav1.ConditionFalse {
		unfinished = c
	}
	show(vmv1alpha1.ConditionStalled, stalled)
	show(vmv1alpha1.ConditionReconciling, unfinished)
}

// stalls returns a condition that no retry makes true, because somebody has to change an
// object first. What does not exist may be about to be made, and what failed is retried:
// neither stalls.
func stalls(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	for _, conditionType := range stallingConditions {
		c := findCondition(vm, conditionType)
		if c != nil && c.Status == metav1.ConditionFalse && slices.Contains(permanentReasons, c.Reason) {
			return c
		}
	}
	return nil
}

// stallingConditions are those without which a virtual machine is not what its spec says,
// in the order in which they are worth telling.
var stallingConditions = append(slices.Clone(vmv1alpha1.CreatePrerequisites),
	vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced,
	vmv1alpha1.ConditionSnapshotSynced)

// permanentReasons are those of a condition that stays False until somebody changes an
// object.
var permanentReasons = []string{
	vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonNotAllowed, vmv1alpha1.ReasonUnsupported, vmv1alpha1.ReasonConflict, vmv1alpha1.ReasonRequirementsNotMet,
	vmv1alpha1.ReasonRecordNewer,
}
