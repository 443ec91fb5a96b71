// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// computed returns the result of the kstatus library for vm.
func computed(t *testing.T, vm *vmv1alpha1.VirtualMachine) *kstatus.Result {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(vm)
	if err != nil {
		t.Fatal(err)
	}
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestStatus_IsCorrectForKstatus(t *testing.T) {
	const on, off = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff
	type change = func(*vmv1alpha1.VirtualMachine)
	created, configured := vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced
	paused := func(vm *vmv1alpha1.VirtualMachine) {
		setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, "")
	}
	for name, test := range map[string]struct {
		changes []change
		want    kstatus.Status
		message string
	}{
		"new":                       {[]change{withoutConditions}, kstatus.InProgressStatus, ""},
		"image does not exist yet":  {[]change{failing(created, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound)}, kstatus.InProgressStatus, ""},
		"creating":                  {[]change{failing(created, vmv1alpha1.ReasonCreating)}, kstatus.InProgressStatus, ""},
		"create failed, is retried": {[]change{failing(created, vmv1alpha1.ReasonError)}, kstatus.InProgressStatus, "why"},
		"no size fits":              {[]change{failing(created, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionPreferenceReady, vmv1alpha1.ReasonRequirementsNotMet)}, kstatus.FailedStatus, "PreferenceReady is False: why"},
		"cannot be created":         {[]change{failing(created, vmv1alpha1.ReasonInvalid)}, kstatus.FailedStatus, "Created is False: why"},
		"starting":                  {[]change{power(on, off)}, kstatus.InProgressStatus, ""},
		"guest has shut down":       {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonGuestShutdown)}, kstatus.FailedStatus, "PowerStateSynced is False: why"},
		"power on in backoff":       {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonBackOff)}, kstatus.InProgressStatus, "why"},
		"suspend while off":         {[]change{power(vmv1alpha1.Suspended, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid)}, kstatus.FailedStatus, "PowerStateSynced is False: why"},
		"waits for an address":      {[]change{ips("", "")}, kstatus.InProgressStatus, "no address"},
		"running":                   {nil, kstatus.CurrentStatus, ""},
		"stopped":                   {[]change{power(off, off)}, kstatus.CurrentStatus, ""},
		"size is being changed":     {[]change{failing(configured, vmv1alpha1.ReasonInProgress)}, kstatus.InProgressStatus, "why"},
		"size change is retried":    {[]change{failing(configured, vmv1alpha1.ReasonError)}, kstatus.InProgressStatus, "why"},
		"size is refused":           {[]change{failing(configured, vmv1alpha1.ReasonInvalid)}, kstatus.FailedStatus, "ConfigurationSynced is False: why"},
		"snapshot of another VM":    {[]change{failing(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonInvalid)}, kstatus.FailedStatus, "SnapshotSynced is False: why"},
		"member of a group":         {[]change{func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName = "all" }}, kstatus.CurrentStatus, ""},
		"paused":                    {[]change{paused}, kstatus.CurrentStatus, ""},
		"deleting":                  {[]change{deleting}, kstatus.TerminatingStatus, ""},
		"spec changed since":        {[]change{func(vm *vmv1alpha1.VirtualMachine) { vm.Generation++ }}, kstatus.InProgressStatus, ""},
	} {
		t.Run(name, func(t *testing.T) {
			vm := stable(test.changes...)
			vm.Status.ObservedGeneration = 1
			report, err := (&probe.Reconciler{}).Reconcile(t.Context(), step.State{VM: vm})
			if err != nil {
				t.Fatal(err)
			}
			setReady(vm, report.Result, time.Unix(0, 0))
			setProgress(vm, time.Unix(0, 0))
			got := computed(t, vm)
			if got.Status != test.want || !strings.Contains(got.Message, test.message) {
				t.Errorf("kstatus returned %s (%s), want %s (%s)", got.Status, got.Message, test.want, test.message)
			}
		})
	}
}

func TestStatus_HasProgressConditionsOnlyWhileTrue(t *testing.T) {
	vm := stable(failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInvalid))
	setReady(vm, metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}, time.Unix(0, 0))
	for _, step := range []struct{ status, reason, stalled, reconciling string }{
		{"False", vmv1alpha1.ReasonInvalid, "True", ""},
		{"False", vmv1alpha1.ReasonInProgress, "", "True"},
		{"True", vmv1alpha1.ReasonSucceeded, "", ""},
	} {
		setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionStatus(step.status), step.reason, "")
		setProgress(vm, time.Unix(0, 0))
		for conditionType, want := range map[string]string{
			vmv1alpha1.ConditionStalled: step.stalled, vmv1alpha1.ConditionReconciling: step.reconciling,
		} {
			got := ""
			if c := findCondition(vm, conditionType); c != nil {
				got = string(c.Status)
			}
			if got != want {
				t.Errorf("with ConfigurationSynced %s/%s: %s is %q, want %q", step.status, step.reason, conditionType, got, want)
			}
		}
	}
}
