// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/schema"
)

func TestSettled_RequiresReadinessOrAReasonWithTheField(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	notReady := condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForPrerequisites, "")
	for name, tc := range map[string]struct {
		observed   int64
		conditions []metav1.Condition
		settled    bool
	}{
		"ready":            {2, []metav1.Condition{condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", "")}, true},
		"not reconciled":   {1, []metav1.Condition{condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", "")}, false},
		"without a word":   {2, []metav1.Condition{notReady}, false},
		"names the field":  {2, []metav1.Condition{notReady, condition("ImageReady", metav1.ConditionFalse, "NotFound", "spec.image: no such thing")}, true},
		"names the value":  {2, []metav1.Condition{notReady, condition("ImageReady", metav1.ConditionFalse, "NotFound", `"missing" does not exist`)}, true},
		"names another":    {2, []metav1.Condition{notReady, condition("ImageReady", metav1.ConditionFalse, "NotFound", "spec.className: no such thing")}, false},
		"without a reason": {2, []metav1.Condition{notReady, condition("ImageReady", metav1.ConditionFalse, "", "spec.image: no such thing")}, false},
		"in progress":      {2, []metav1.Condition{notReady, condition("Created", metav1.ConditionFalse, "Creating", "from image missing")}, false},
		"paused":           {1, []metav1.Condition{condition(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, "Paused", "by annotation")}, true},
		"ready and unfinished": {2, []metav1.Condition{
			condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", ""), condition(vmv1alpha1.ConditionReconciling, metav1.ConditionTrue, "InProgress", "changing spec.image"),
		}, false},
	} {
		vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		vm.Status.ObservedGeneration, vm.Status.Conditions = tc.observed, tc.conditions
		for _, o := range []oddity{{place: ".spec.image.name", value: `"missing"`}, {place: ".spec.image", value: `{"kind":"","name":"missing"}`}} {
			if why := unsettled(vm, []oddity{o}); (why == "") != tc.settled {
				t.Errorf("%s, %s: %q, want settled %t", name, o.place, why, tc.settled)
			}
		}
	}
}

func TestKinds_AreTriedWithOddValuesOrListedAsUnused(t *testing.T) {
	for _, k := range schema.Kinds {
		_, referred := references[k.Name]
		if odd := k.Name == machineKind || referred; odd == slices.Contains(unused, k.Name) {
			t.Errorf("%s: VMs are created with odd values: %t, unused: %t; exactly one must be true", k.Name, odd, odd)
		}
	}
}

func TestRepeated_DetectsCallsWithoutBackoff(t *testing.T) {
	for name, tc := range map[string]struct {
		after []time.Duration
		wrong bool
	}{
		"nothing":                     {nil, false},
		"five together":               {make([]time.Duration, 5), false},
		"six together":                {make([]time.Duration, 6), true},
		"the sixth after a pause":     {[]time.Duration{0, 0, 0, 0, 0, 40 * time.Second}, false},
		"more and more, and no pause": {[]time.Duration{0, 0, 0, 0, 0, 40 * time.Second, 41 * time.Second, 42 * time.Second}, true},
		"the pauses grow":             {[]time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 155 * time.Second, 275 * time.Second}, false},
	} {
		var calls []fleetcheck.Call
		for _, after := range tc.after {
			calls = append(calls, fleetcheck.Call{Operation: fleetcheck.Reconfigure, Time: time.Unix(0, 0).Add(after)})
		}
		if wrong := repeated(calls, 0); (wrong != "") != tc.wrong {
			t.Errorf("%s: %q, want wrong %t", name, wrong, tc.wrong)
		}
	}
}

// The odd value must be the only problem of the VM.
func TestOddMachine_HasThePrerequisitesOfItsValue(t *testing.T) {
	for place, want := range map[string]string{
		".spec.instancetype.kind":                      `"instancetype":{"name":"small","kind":"x"}`,
		".spec.devices.gpus[].name":                    `"deviceName":"grid_t4-8q","name":"x"`,
		".spec.volumes[].disk.size":                    `"volumes":[{"name":"a","disk":{"size":"x"}}]`,
		".spec.bootstrap.cloudInit.rawCloudConfig.key": `"rawCloudConfig":{"name":"data","key":"x"}`,
	} {
		document := change("{"+base+"}", place, `"x"`)
		if !strings.Contains(strings.ReplaceAll(document, " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("%s: %s, want it to have %s", place, document, want)
		}
	}
}
