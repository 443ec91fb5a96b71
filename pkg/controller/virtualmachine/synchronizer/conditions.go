// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// maxMessage is the longest message that metav1.Condition allows, in bytes here.
const maxMessage = 32768

// setCondition sets a condition True, or False with the reason and message of
// err. The time changes only with the status.
func setCondition(vm *vmv1alpha1.VirtualMachine, conditionType string, err error, now func() metav1.Time) {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionTrue,
		Reason:             vmv1alpha1.ReasonSucceeded,
		ObservedGeneration: vm.Generation,
		LastTransitionTime: now(),
	}
	if err != nil {
		condition.Status = metav1.ConditionFalse
		condition.Reason = instancetype.Reason(err)
		condition.Message = oneLine(err)
		if len(condition.Message) > maxMessage {
			condition.Message = condition.Message[:maxMessage]
		}
	}
	meta.SetStatusCondition(&vm.Status.Conditions, condition)
}

// changed returns before unless after differs, so that the caller can tell by
// identity.
func changed(before, after *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	if equality.Semantic.DeepEqual(before, after) {
		return before
	}
	return after
}
