// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

const (
	isOn        = vmv1alpha1.PoweredOn
	isOff       = vmv1alpha1.PoweredOff
	isSuspended = vmv1alpha1.Suspended
)

// Differences for the cases: one that is applied live and one that needs a power cycle.
var (
	live = driver.Difference{Path: "cpu.shares", Running: "normal", Desired: "high", Live: true}
	cold = driver.Difference{Path: "cpu.sockets", Running: "2", Desired: "4"}
)

// planned is an expected plan.
type planned struct {
	op       string // kind and mode
	synced   string // PowerStateSynced
	config   string // ConfigurationSynced
	requeue  time.Duration
	stops    bool     // a NoRequeueError
	restart  []string // status.restartRequired
	changes  []string // of the operation
	settled  bool
	messages map[string]string
}

// state sets the observed and the desired power state.
func state(observed, desired vmv1alpha1.PowerState) func(*Input) {
	return func(in *Input) { in.Observation.PowerState, in.VM.Spec.PowerState = observed, desired }
}

// withFirstStart sets the first start time, so that the VM has run before.
func withFirstStart(in *Input) { in.VM.Status.FirstStartTime = &metav1.Time{Time: in.Now} }

func withDifferences(all ...driver.Difference) func(*Input) {
	return func(in *Input) {
		m := in.Machine.(fakeMachine)
		m.differs = all
		in.Machine = m
	}
}

// withRefusal makes the machine refuse one field.
func withRefusal(in *Input) {
	m := in.Machine.(fakeMachine)
	m.refuses = true
	in.Machine = m
}

// withFailure adds a recent failure of the reconfiguration.
func withFailure(failure driver.Failure) func(*Input) {
	return func(in *Input) {
		first, _ := Make(*in)
		in.Last = in.Last.WithOutcome(first.Operation.Kind, Fingerprint(*first.Operation), errors.New("vSphere refused"), failure, in.Now)
	}
}

func withAnnotation(key, value string) func(*Input) {
	return func(in *Input) { in.VM.Annotations = map[string]string{key: value} }
}

func withRestartAt(after time.Duration) func(*Input) {
	return func(in *Input) { in.VM.Spec.NextRestartTime = in.Now.Add(after).Format(time.RFC3339Nano) }
}

func stage(in *Input) { in.VM.Spec.UpdateStrategy = vmv1alpha1.UpdateStrategyStage }

const (
	hour    = time.Hour
	synced  = "True Succeeded"
	refusal = "volumes[data]: it cannot be"
)

// The cases are the arrows in the charts of power state and configuration.
func TestMake_FollowsTheTransitionsOfTheCharts(t *testing.T) {
	delayed := withAnnotation(vmv1alpha1.AnnotationDelayedPowerOn, runningMachine().Now.Add(hour).Format(time.RFC3339))
	held := withAnnotation(vmv1alpha1.CheckPowerOnPrefix+"cmdb", "not registered")
	for name, tc := range map[string]struct {
		given []func(*Input)
		want  planned
	}{
		"as desired": {nil, planned{synced: synced, config: synced, settled: true}},
		"power on":   {[]func(*Input){state(isOff, isOn)}, planned{op: "power on", synced: "False PoweringOn", config: synced, settled: true}},
		"resume":     {[]func(*Input){state(isSuspended, isOn)}, planned{op: "power on", synced: "False PoweringOn", config: synced, settled: true}},
		"power off":  {[]func(*Input){state(isOn, isOff)}, planned{op: "power off TrySoft", synced: "False PoweringOff", config: synced, settled: true}},
		"suspend":    {[]func(*Input){state(isOn, isSuspended)}, planned{op: "suspend TrySoft", synced: "False Suspending", config: synced, settled: true}},
		"power off of a suspended guest, without a guest shutdown": {[]func(*Input){state(isSuspended, isOff)},
			planned{op: "power off Hard", synced: "False PoweringOff", config: synced, settled: true}},
		"suspend from off": {[]func(*Input){state(isOff, isSuspended), withFirstStart}, planned{synced: "False Invalid", config: synced, stops: true, settled: true}},

		"power on, delayed": {[]func(*Input){state(isOff, isOn), delayed},
			planned{synced: "False Delayed", config: synced, requeue: hour, settled: true}},
		"power on, the delay has passed": {[]func(*Input){state(isOff, isOn), delayed, func(in *Input) { in.Now = in.Now.Add(hour) }},
			planned{op: "power on", synced: "False PoweringOn", config: synced, settled: true}},
		"power on, held by an annotation": {[]func(*Input){state(isOff, isOn), held}, planned{synced: "False HeldByCheck", config: synced, settled: true}},
		"resume, held by an annotation":   {[]func(*Input){state(isSuspended, isOn), held}, planned{synced: "False HeldByCheck", config: synced, settled: true}},
		"power off, and an annotation holds power on": {[]func(*Input){state(isOn, isOff), held},
			planned{op: "power off TrySoft", synced: "False PoweringOff", config: synced, settled: true}},

		"restart":        {[]func(*Input){withRestartAt(0)}, planned{op: "restart TrySoft", synced: "False Restarting", config: synced, settled: true}},
		"restart, later": {[]func(*Input){withRestartAt(hour)}, planned{synced: synced, config: synced, requeue: hour, settled: true}},
		"restart with a change": {[]func(*Input){withRestartAt(0), withDifferences(cold)}, planned{op: "restart TrySoft", synced: "False Restarting", config: "False RestartRequired",
			restart: []string{"cpu.sockets"}, changes: []string{"cpu.sockets"}, settled: true}},
		"restart with a change, held by an annotation": {[]func(*Input){withRestartAt(0), withDifferences(cold), held},
			planned{synced: "False HeldByCheck", config: "False RestartRequired", restart: []string{"cpu.sockets"}, settled: true}},

		"a live change": {[]func(*Input){withDifferences(live)}, planned{op: "reconfigure", synced: synced, config: "False InProgress", changes: []string{"cpu.shares"}}},
		"a live change, staged": {[]func(*Input){withDifferences(live), stage},
			planned{synced: synced, config: "False RestartRequired", restart: []string{"cpu.shares"}, settled: true}},
		"a live change during power off": {[]func(*Input){state(isOn, isOff), withDifferences(live)},
			planned{op: "power off TrySoft", synced: "False PoweringOff", config: synced}},
		"a change before power on": {[]func(*Input){state(isOff, isOn), withDifferences(cold)},
			planned{op: "reconfigure", synced: "False PoweringOn", config: "False InProgress", changes: []string{"cpu.sockets"},
				messages: map[string]string{vmv1alpha1.ConditionPowerStateSynced: "waiting for ConfigurationSynced"}}},
		"a change, and no effective spec": {[]func(*Input){state(isOff, isOn), func(in *Input) { in.Want.Effective = nil }},
			planned{synced: "False WaitingForPrerequisites", config: "False WaitingForPrerequisites"}},

		"a failed configuration, power on for the first time": {[]func(*Input){state(isOff, isOn), withDifferences(cold), withFailure(driver.Refused)},
			planned{synced: "False WaitingForPrerequisites", config: "False Error", requeue: 5 * time.Second}},
		"a failed configuration, power on": {[]func(*Input){state(isOff, isOn), withFirstStart, withDifferences(cold), withFailure(driver.Refused)},
			planned{op: "power on", synced: "False PoweringOn", config: "False Error", requeue: 5 * time.Second}},
		"a temporary failure of the configuration, power on": {[]func(*Input){state(isOff, isOn), withFirstStart, withDifferences(cold), withFailure(driver.Busy)},
			planned{synced: "False WaitingForPrerequisites", config: "False Error", requeue: time.Second}},
		"a failed configuration, suspend": {[]func(*Input){state(isOn, isSuspended), withDifferences(live), withFailure(driver.Refused)},
			planned{op: "suspend TrySoft", synced: "False Suspending", config: "False Error", requeue: 5 * time.Second}},
		"a failed configuration, restart": {[]func(*Input){withRestartAt(0), withDifferences(live), withFailure(driver.Refused)},
			planned{op: "restart TrySoft", synced: "False Restarting", config: "False Error", requeue: 5 * time.Second}},
		"a failed configuration, nothing else": {[]func(*Input){withDifferences(live), withFailure(driver.Refused)},
			planned{synced: synced, config: "False Error", requeue: 5 * time.Second}},

		"unreachable": {[]func(*Input){state("", isOn), func(in *Input) { in.Observation.Readable, in.Observation.Trouble = false, "its host is disconnected" }},
			planned{synced: "Unknown UnknownState", config: "Unknown UnknownState", stops: true}},
	} {
		t.Run(name, func(t *testing.T) { checkPlan(t, runningMachine(tc.given...), tc.want) })
	}
}

// checkPlan compares the plan of in with want.
func checkPlan(t *testing.T, in Input, want planned) {
	t.Helper()
	p, err := Make(in)
	got := planned{synced: conditionSummary(p.Result, vmv1alpha1.ConditionPowerStateSynced), config: conditionSummary(p.Result, vmv1alpha1.ConditionConfigurationSynced), settled: p.Settled}
	if p.Operation != nil {
		got.op = string(p.Operation.Kind)
		if p.Operation.Detail != "" {
			got.op += " " + p.Operation.Detail
		}
		for _, d := range p.Operation.Changes {
			if d.Path != "metadata.record" {
				got.changes = append(got.changes, d.Path)
			}
		}
	}
	for _, r := range p.RestartRequired {
		got.restart = append(got.restart, r.Path)
	}
	got.requeue, _ = provider.AsRequeue(err)
	got.stops = provider.IsNoRequeue(err)
	for condition := range want.messages {
		if got.messages == nil {
			got.messages = map[string]string{}
		}
		if c := conditions.Find(p.Conditions, condition); c != nil {
			got.messages[condition] = c.Message
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(planned{})); diff != "" {
		t.Errorf("plan (-want +got):\n%s\nerror: %v", diff, err)
	}
}

func conditionSummary(r provider.Result, condition string) string {
	c := conditions.Find(r.Conditions, condition)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// A refusal affects only its own field. A VM that has run can be powered on, resumed, suspended, powered off and
// restarted with its current configuration, and all other changes are applied.
func TestRefusal_AffectsOnlyItsField(t *testing.T) {
	message := func(text string) map[string]string {
		return map[string]string{vmv1alpha1.ConditionConfigurationSynced: text}
	}
	for name, tc := range map[string]struct {
		given []func(*Input)
		want  planned
	}{
		"runs": {nil, planned{synced: synced, config: "False Invalid", stops: true, messages: message(refusal)}},
		"runs, and another change is live": {[]func(*Input){withDifferences(live)}, planned{op: "reconfigure", synced: synced, config: "False InProgress", stops: true,
			changes: []string{"cpu.shares"}, messages: message("changing cpu.shares; refused: " + refusal)}},
		"runs, and another change needs a power cycle": {[]func(*Input){withDifferences(cold)}, planned{synced: synced, config: "False Invalid", stops: true,
			restart: []string{"cpu.sockets"}, messages: message(refusal + "; a power cycle is needed to change cpu.sockets")}},
		"off, has run":     {[]func(*Input){state(isOff, isOn), withFirstStart}, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true}},
		"off, was adopted": {[]func(*Input){state(isOff, isOn), func(in *Input) { in.VM.Spec.InstanceUUID = "u" }}, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true}},
		"off, was restarted by an earlier version": {[]func(*Input){state(isOff, isOn), func(in *Input) { in.VM.Status.LastRestartTime = &metav1.Time{} }}, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true}},
		"off, had an address in an earlier version": {[]func(*Input){state(isOff, isOn), func(in *Input) {
			provisioned := true
			in.VM.Status.Initialization = &vmv1alpha1.VirtualMachineInitialization{Provisioned: &provisioned}
		}}, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true}},
		"off, has run, and another change": {[]func(*Input){state(isOff, isOn), withFirstStart, withDifferences(cold)}, planned{op: "reconfigure", synced: "False PoweringOn",
			config: "False InProgress", stops: true, changes: []string{"cpu.sockets"}}},
		"off as desired, has run":    {[]func(*Input){state(isOff, isOff), withFirstStart}, planned{synced: synced, config: "False Invalid", stops: true}},
		"suspended, and resumed":     {[]func(*Input){state(isSuspended, isOn)}, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true}},
		"suspended, and powered off": {[]func(*Input){state(isSuspended, isOff)}, planned{op: "power off Hard", synced: "False PoweringOff", config: "False Invalid", stops: true}},
		"powered off":                {[]func(*Input){state(isOn, isOff)}, planned{op: "power off TrySoft", synced: "False PoweringOff", config: "False Invalid", stops: true}},
		"suspended":                  {[]func(*Input){state(isOn, isSuspended)}, planned{op: "suspend TrySoft", synced: "False Suspending", config: "False Invalid", stops: true}},
		"restarted":                  {[]func(*Input){withRestartAt(0)}, planned{op: "restart TrySoft", synced: "False Restarting", config: "False Invalid", stops: true}},
		"never ran": {[]func(*Input){state(isOff, isOn), withDifferences(cold)}, planned{synced: "False WaitingForPrerequisites", config: "False Invalid", stops: true,
			messages: map[string]string{vmv1alpha1.ConditionPowerStateSynced: "waiting for ConfigurationSynced"}}},
		"never ran, and is off as desired": {[]func(*Input){state(isOff, isOff)}, planned{synced: synced, config: "False Invalid", stops: true}},
	} {
		t.Run(name, func(t *testing.T) {
			checkPlan(t, runningMachine(append([]func(*Input){withRefusal}, tc.given...)...), tc.want)
		})
	}
}

// A refused claim is not attached, and power on does not wait for it.
func TestRefusedClaim_DoesNotPreventPowerOn(t *testing.T) {
	in := runningMachine(state(isOff, isOn), withFirstStart, func(in *Input) {
		in.Want.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}
	})
	checkPlan(t, in, planned{synced: "False WaitingForPrerequisites", config: synced, settled: true})
	withRefusal(&in)
	checkPlan(t, in, planned{op: "power on", synced: "False PoweringOn", config: "False Invalid", stops: true})
}

// Every plan sets the condition, even if an earlier step ends the plan.
func TestPowerStateSynced_IsSetByEveryPlan(t *testing.T) {
	newer := func(in *Input) { in.Observation.RecordHead.Generation, in.Observation.RecordHead.Schema = 9, 99 }
	reverting := func(in *Input) { in.Want.Revert = &provider.RevertTarget{UID: "a", Name: "s"} }
	waitingFor := func(condition string) map[string]string {
		return map[string]string{vmv1alpha1.ConditionPowerStateSynced: "waiting for " + condition}
	}
	for name, tc := range map[string]struct {
		given    []func(*Input)
		synced   string
		messages map[string]string
	}{
		"the record is newer, off":     {[]func(*Input){state(isOff, isOn), newer}, "False WaitingForPrerequisites", waitingFor("BackupUpToDate")},
		"the record is newer, running": {[]func(*Input){newer}, synced, nil},
		"a revert begins, off":         {[]func(*Input){state(isOff, isOn), reverting}, "False PoweringOn", waitingFor("SnapshotSynced")},
		"a revert begins, running":     {[]func(*Input){reverting}, synced, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(runningMachine(tc.given...))
			if got := conditionSummary(p.Result, vmv1alpha1.ConditionPowerStateSynced); got != tc.synced {
				t.Errorf("PowerStateSynced = %q, want %q; error %v", got, tc.synced, err)
			}
			for condition, want := range tc.messages {
				if c := conditions.Find(p.Conditions, condition); c == nil || c.Message != want {
					t.Errorf("%s = %+v, want message %q", condition, c, want)
				}
			}
		})
	}
}

// Report also sets the condition from the observation, during an operation and while changes are not allowed.
func TestPowerStateSynced_IsSetByEveryReport(t *testing.T) {
	for name, tc := range map[string]struct {
		given   []func(*Input)
		running driver.Kind
		want    string
	}{
		"off, a snapshot is taken":     {[]func(*Input){state(isOff, isOn)}, driver.KindSnapshot, "False PoweringOn: waiting for the running operation: take a snapshot"},
		"running, a snapshot is taken": {nil, driver.KindSnapshot, "True Succeeded: "},
		"off, is powered on":           {[]func(*Input){state(isOff, isOn)}, driver.KindPowerOn, "False PoweringOn: "},
		"running, is restarted":        {nil, driver.KindRestart, "False Restarting: "},
		"running, is powered off":      {[]func(*Input){state(isOn, isOff)}, driver.KindPowerOff, "False PoweringOff: "},
		"running, is suspended":        {[]func(*Input){state(isOn, isSuspended)}, driver.KindSuspend, "False Suspending: "},
		"off, paused": {[]func(*Input){state(isOff, isOn), func(in *Input) { in.Observation.Paused = true }}, "",
			"False Paused: the virtual machine is paused by an administrator in vSphere"},
		"unreachable": {[]func(*Input){func(in *Input) { in.Observation.Readable, in.Observation.Trouble = false, "disconnected" }}, "", "Unknown UnknownState: disconnected"},
	} {
		t.Run(name, func(t *testing.T) {
			var op *driver.Operation
			if tc.running != "" {
				op = &driver.Operation{Kind: tc.running}
			}
			c := conditions.Find(Report(runningMachine(tc.given...), op).Conditions, vmv1alpha1.ConditionPowerStateSynced)
			if c == nil || string(c.Status)+" "+c.Reason+": "+c.Message != tc.want {
				t.Errorf("PowerStateSynced = %+v, want %q", c, tc.want)
			}
		})
	}
}

// If vSphere rejects the changes of a restart, the VM restarts with its current configuration. The message contains the
// reason.
func TestRestart_ReportsThatItsChangesWereNotApplied(t *testing.T) {
	in := runningMachine(withDifferences(cold))
	in.Last = in.Last.WithOutcome(driver.KindRestart, 1, errors.New("no licence for 4 CPUs"), driver.Refused, in.Now)
	checkPlan(t, in, planned{synced: synced, config: "False Error", restart: []string{"cpu.sockets"}, settled: true, messages: map[string]string{
		vmv1alpha1.ConditionConfigurationSynced: "a power cycle is needed to change cpu.sockets; the last restart failed: no licence for 4 CPUs",
	}})
}
