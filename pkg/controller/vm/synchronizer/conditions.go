// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// setCondition sets a condition True, or False with the reason and message of
// err.
func setCondition(vm *vmv1alpha1.VirtualMachine, conditionType string, err error, now func() metav1.Time) {
	c := metav1.Condition{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, ObservedGeneration: vm.Generation,
	}
	if err != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, instancetype.Reason(err), err.Error()
	}
	conditions.Set(&vm.Status.Conditions, now().Time, c)
}
