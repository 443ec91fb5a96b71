// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestTheColumnReadyIsTrueOrSaysWhyNot(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason}
	}
	good := condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	for want, all := range map[string][]metav1.Condition{
		"":          nil,
		"True":      {good},
		"Untrusted": {condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonUntrusted)},
		"InUse":     {good, condition(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse)},
	} {
		got := ready(&vmv1alpha1.VCenter{Status: vmv1alpha1.VCenterStatus{Conditions: all}})
		if text, _ := got.(string); text != want {
			t.Errorf("%v is shown as %q, want %q", all, text, want)
		}
	}
}
