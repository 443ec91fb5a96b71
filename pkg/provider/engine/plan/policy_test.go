// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// withPowerStateSynced sets the status that an earlier plan has reported.
func withPowerStateSynced(power vmv1alpha1.PowerState, status metav1.ConditionStatus, reason string) func(*Input) {
	return func(in *Input) {
		in.VM.Status.PowerState = power
		conditions.Set(&in.VM.Status.Conditions, in.Now, metav1.Condition{Type: vmv1alpha1.ConditionPowerStateSynced, Status: status, Reason: reason})
	}
}

func withOutcomes(kinds ...driver.Kind) func(*Input) {
	return func(in *Input) {
		for _, kind := range kinds {
			op := driver.Operation{Kind: kind}
			in.Last = in.Last.WithOutcome(kind, Fingerprint(op), nil, driver.Refused, in.Now)
		}
	}
}

func TestPowerPolicy_DecidesWhetherAStoppedVMIsPoweredOn(t *testing.T) {
	const on, no = "power on: False PoweringOn", ": False "
	clean := func(in *Input) { in.Observation.CleanPowerOff = true }
	wasRunning := withPowerStateSynced(isOn, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	start := withAnnotation(vmv1alpha1.AnnotationStartRequested, runningMachine().Now.Format(time.RFC3339))
	for name, tc := range map[string]struct {
		given []func(*Input)
		// always, onFailure and manual are the operation and PowerStateSynced with each policy.
		always, onFailure, manual string
	}{
		"its guest shuts down":                   {[]func(*Input){state(isOff, isOn), wasRunning, clean}, on, no + "GuestShutdown", no + "StartRequired"},
		"it crashes":                             {[]func(*Input){state(isOff, isOn), wasRunning}, on, on, no + "StartRequired"},
		"it is suspended manually":               {[]func(*Input){state(isSuspended, isOn), wasRunning}, on, on, no + "StartRequired"},
		"it is new":                              {[]func(*Input){state(isOff, isOn), clean}, on, on, on},
		"it was off as desired":                  {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOff, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded), clean}, on, on, on},
		"it is being powered on":                 {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOff, metav1.ConditionFalse, vmv1alpha1.ReasonPoweringOn), clean}, on, on, on},
		"power on has failed":                    {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOff, metav1.ConditionFalse, vmv1alpha1.ReasonError), clean}, on, on, on},
		"it stays powered off":                   {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOff, metav1.ConditionFalse, vmv1alpha1.ReasonGuestShutdown), clean}, on, no + "GuestShutdown", no + "StartRequired"},
		"a start is requested":                   {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOff, metav1.ConditionFalse, vmv1alpha1.ReasonStartRequired), clean, start}, on, on, on},
		"a restart is requested":                 {[]func(*Input){state(isOff, isOn), wasRunning, clean, func(in *Input) { in.Observation.LastRestart = nil }, withRestartAt(0)}, "reconfigure: False PoweringOn", "reconfigure: False PoweringOn", "reconfigure: False PoweringOn"},
		"it was powered off immediately":         {[]func(*Input){state(isOff, isOn), clean, withOutcomes(driver.KindPowerOn)}, on, no + "GuestShutdown", no + "StartRequired"},
		"it was stopped and started immediately": {[]func(*Input){state(isOff, isOn), wasRunning, clean, withOutcomes(driver.KindPowerOn, driver.KindPowerOff)}, on, on, on},
		"it was reverted":                        {[]func(*Input){state(isOff, isOn), wasRunning, clean, withOutcomes(driver.KindPowerOn, driver.KindRevert)}, on, on, on},
		"it was unreachable and is powered off":  {[]func(*Input){state(isOff, isOn), withPowerStateSynced(isOn, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState), clean}, on, no + "GuestShutdown", no + "StartRequired"},
		"it is powered off as desired":           {[]func(*Input){state(isOff, isOff), wasRunning, clean}, ": True Succeeded", ": True Succeeded", ": True Succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			for policy, want := range map[vmv1alpha1.PowerPolicy]string{
				"": tc.always, vmv1alpha1.PowerPolicyAlways: tc.always, vmv1alpha1.PowerPolicyOnFailure: tc.onFailure, vmv1alpha1.PowerPolicyManual: tc.manual,
			} {
				in := runningMachine(tc.given...)
				in.VM.Spec.PowerPolicy = &policy
				p, err := Make(in)
				got := ""
				if p.Operation != nil {
					got = string(p.Operation.Kind)
				}
				if got += ": " + conditionSummary(p.Result, vmv1alpha1.ConditionPowerStateSynced); got != want || err != nil {
					t.Errorf("%s: %s, error %v; want %s", policy, got, err, want)
				}
			}
		})
	}
}

// A guest whose boot ends with a shutdown is powered on again with increasing delays. A guest that runs longer is
// powered on again immediately.
func TestPowerOn_BacksOffIfUndone(t *testing.T) {
	for name, tc := range map[string]struct {
		runs time.Duration // time until it shuts down
		want []time.Duration
	}{
		"immediately":       {0, []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute}},
		"after 15 seconds":  {15 * time.Second, []time.Duration{0, 0, 5 * time.Second, 25 * time.Second, 65 * time.Second}},
		"after ten minutes": {10 * time.Minute, []time.Duration{0, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			in, got := runningMachine(), []time.Duration(nil)
			for range tc.want {
				state(isOn, isOn)(&in)
				if in.Last = in.Last.WithOutcome(driver.KindPowerOn, Fingerprint(in.Machine.PowerOn()), nil, driver.Refused, in.Now); in.Last != nil {
					in.Last = RemainingOutcomes(in) // it is observed as powered on
				}
				in.Now = in.Now.Add(tc.runs)
				state(isOff, isOn)(&in)
				wait := time.Duration(0)
				if hold := in.Last.HoldFor(in.Machine.PowerOn(), in.Now); hold != nil {
					if wait = hold.Wait; hold.Reason != vmv1alpha1.ReasonBackOff || hold.Failed {
						t.Fatalf("held as %+v, want BackOff", hold)
					}
				}
				got, in.Now = append(got, wait), in.Now.Add(wait)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPowerOperations_BackOffIfUndone(t *testing.T) {
	for name, tc := range map[string]struct {
		observed, desired vmv1alpha1.PowerState
		op                driver.Operation
	}{
		"power on":  {isOff, isOn, fakeMachine{}.PowerOn()},
		"resume":    {isSuspended, isOn, fakeMachine{}.PowerOn()},
		"power off": {isOn, isOff, fakeMachine{}.PowerOff(vmv1alpha1.PowerOpModeTrySoft, 0)},
		"suspend":   {isOn, isSuspended, fakeMachine{}.Suspend(vmv1alpha1.PowerOpModeTrySoft, 0)},
	} {
		in := runningMachine(state(tc.observed, tc.desired))
		for range 2 {
			in.Last = in.Last.WithOutcome(tc.op.Kind, Fingerprint(tc.op), nil, driver.Refused, in.Now)
		}
		p, _ := Make(in)
		c := conditions.Find(p.Conditions, vmv1alpha1.ConditionPowerStateSynced)
		want := string(tc.op.Kind) + " succeeded 2 times in a row and was undone each time, by the guest or in vSphere; the next attempt is at " +
			in.Now.Add(10*time.Second).UTC().Format(time.RFC3339)
		if p.Operation != nil || !p.Held || c == nil || c.Reason != vmv1alpha1.ReasonBackOff || c.Message != want {
			t.Errorf("%s: operation %+v, held %t, condition %+v; want %s", name, p.Operation, p.Held, c, want)
		}
	}
}

// virtctl start ends a delay, if it was requested after the last operation.
func TestStart_EndsTheBackOff(t *testing.T) {
	in := runningMachine(state(isOff, isOn), withOutcomes(driver.KindPowerOn, driver.KindPowerOn))
	if p, _ := Make(in); p.Operation != nil {
		t.Fatalf("operation %+v, want a delay", p.Operation)
	}
	withAnnotation(vmv1alpha1.AnnotationStartRequested, in.Now.Add(-time.Minute).Format(time.RFC3339))(&in)
	if p, _ := Make(in); p.Operation != nil {
		t.Errorf("operation %+v after an earlier start request, want a delay", p.Operation)
	}
	withAnnotation(vmv1alpha1.AnnotationStartRequested, in.Now.Format(time.RFC3339))(&in)
	if p, _ := Make(in); p.Operation == nil || p.Operation.Kind != driver.KindPowerOn {
		t.Errorf("operation %+v, want the requested power on", p.Operation)
	}
}

// A change by a user does not count as undone.
func TestPowerOn_IsNotDelayedAfterARequestedPowerOff(t *testing.T) {
	in := runningMachine(state(isOff, isOn), withOutcomes(driver.KindPowerOn, driver.KindPowerOff, driver.KindPowerOn, driver.KindSuspend, driver.KindPowerOn, driver.KindRevert))
	if p, _ := Make(in); p.Operation == nil || p.Operation.Kind != driver.KindPowerOn {
		t.Errorf("operation %+v, condition %s; want an immediate power on", p.Operation, conditionSummary(p.Result, vmv1alpha1.ConditionPowerStateSynced))
	}
}

// If suspension was requested before the first start, the VM is started first, because both were requested in this
// order.
func TestSuspend_FirstPowersOnAVMThatNeverRan(t *testing.T) {
	checkPlan(t, runningMachine(state(isOff, isSuspended)), planned{op: "power on", synced: "False PoweringOn", config: synced, settled: true})
	checkPlan(t, runningMachine(state(isOn, isSuspended)), planned{op: "suspend TrySoft", synced: "False Suspending", config: synced, settled: true})
	held := withAnnotation(vmv1alpha1.CheckPowerOnPrefix+"cmdb", "not registered")
	checkPlan(t, runningMachine(state(isOff, isSuspended), held), planned{synced: "False HeldByCheck", config: synced, settled: true})
}
