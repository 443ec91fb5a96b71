// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestTheColumnReadyIsTrueOrSaysWhyNot(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason}
	}
	good := condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	for want, all := range map[string][]metav1.Condition{
		"":         nil,
		"True":     {good},
		"NotFound": {condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound)},
		"InUse":    {good, condition(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse)},
	} {
		got := ready(&vmv1alpha1.Zone{Status: vmv1alpha1.ZoneStatus{Conditions: all}})
		if text, _ := got.(string); text != want {
			t.Errorf("%v is shown as %q, want %q", all, text, want)
		}
	}
}

func TestWhatIsFreeIsShownInUnitsOfPeople(t *testing.T) {
	if got := gigahertz(new(resource.MustParse("12340M"))); got != "12.3GHz" {
		t.Errorf("12340 MHz are shown as %s", got)
	}
	if got := size(new(resource.MustParse("3071Mi"))); got != "2Gi" {
		t.Errorf("3071 MiB are shown as %s", got)
	}
}
