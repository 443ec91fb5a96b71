// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Input is what the steps decide by.
type Input struct {
	// VM is the object; it is only read.
	VM *vmv1alpha1.VirtualMachine
	// Want is what it asks for; Want.Effective is nil when it cannot be resolved.
	Want *driver.Want
	// Revisions are those that VM has captured, as far as they could be read.
	Revisions []*itv1alpha1.ControllerRevision
	// Groups are those that the machine is to keep.
	Groups vmrecord.Groups
	// Machine as it was read.
	Machine driver.Machine
	// Owned is true for a Machine that says that it is the object's.
	Owned bool
	// Observation of Machine.
	Observation provider.Observation
	// Unreachable is true when the trouble of Observation is that vCenter does not answer.
	Unreachable bool
	// Last is how the last operations ended since there was nothing to do.
	Last Outcomes
	// Recorded is when the record was last written, zero when that is long ago or not known.
	Recorded time.Time
	// RecordPause is how long after that it is not written by itself for labels and
	// annotations alone.
	RecordPause time.Duration
	// Now is the time of the pass.
	Now time.Time
	// Progress is told how far a promotion of disks has come, in percent.
	Progress func(percent int32)
}

// Plan is what was decided.
type Plan struct {
	// Result for the caller.
	provider.Result
	// Operation to start, nil for none.
	Operation *driver.Operation
	// Unresolved are the conditions whose check has to come before the configuration
	// can be compared as a whole.
	Unresolved []string
	// Records is true when Operation writes the record.
	Records bool
	// Held is true when something waits for the end of a pause.
	Held bool
	// kept is what is to be kept with the machine: what it lacks, and its record. It is
	// written with changes of the configuration, or by itself.
	kept []driver.Difference
	// keepAfter is when that may be written by itself.
	keepAfter time.Time
	// configHeld is true when that is the configuration, after a failure that keeps the virtual
	// machine from being powered on.
	configHeld bool
	// refused is what of the configuration is refused.
	refused driver.Refusals
}

// step looks at in, adds to p, and may set one operation.
type step struct {
	name string
	// condition reports the outcome of the step.
	condition string
	run       func(in *Input, p *Plan) error
	// goesOn: a NoRequeueError does not end the plan of a virtual machine that has run.
	goesOn bool
}

// steps in the specification's order, but for the revert to a snapshot: what it brings back
// is configuration and power state, which must not be changed by a spec that is about to be
// replaced. Taking snapshots is asked for by objects of their own (Engine.Snapshot).
var steps = []step{
	{name: "schema upgrade", condition: vmv1alpha1.ConditionBackupUpToDate, run: reconcileSchema},
	{name: "status", condition: vmv1alpha1.ConditionCreated, run: reconcileStatus},
	{name: "backup", condition: vmv1alpha1.ConditionBackupUpToDate, run: reconcileBackup},
	{name: "revert", condition: vmv1alpha1.ConditionSnapshotSynced, run: reconcileRevert},
	{name: "config", condition: vmv1alpha1.ConditionConfigurationSynced, run: reconcileConfig, goesOn: true},
	{name: "power state", condition: vmv1alpha1.ConditionPowerStateSynced, run: reconcilePower},
	{name: "disk promotion", condition: vmv1alpha1.ConditionDiskPromotionSynced, run: reconcilePromotion},
}

// Make makes the plan. The error tells when to look again, or that it is no use.
func Make(in Input) (Plan, error) {
	var p Plan
	var failures []error
	for _, s := range steps {
		err := s.run(&in, &p)
		if err != nil {
			failures = append(failures, err)
			if provider.IsNoRequeue(err) && (!s.goesOn || !in.hasRun()) {
				p.waitForStep(s, vmv1alpha1.ReasonWaitingForPrerequisites)
				break
			}
		}
		if p.Operation != nil || p.Reverted != nil {
			p.waitForStep(s, vmv1alpha1.TransitionTo(in.desired()))
			break
		}
	}
	if p.Operation != nil {
		p.Settled = p.Settled && p.Operation.Kind != driver.KindReconfigure
		p.Records = len(p.kept) > 0 && p.Operation.Kind == driver.KindReconfigure
	}
	return p, errors.Join(failures...)
}

// Report is the plan of a pass that must not plan: the status of what is observed, while
// running, if not nil, is carried out.
func Report(in Input, running *driver.Operation) provider.Result {
	var p Plan
	_ = reconcileStatus(&in, &p)
	if running == nil {
		return p.Result
	}
	if reason, ok := transitions[running.Kind]; ok {
		p.False(vmv1alpha1.ConditionPowerStateSynced, reason, "")
	} else if c := conditions.Find(p.Conditions, vmv1alpha1.ConditionPowerStateSynced); c != nil && c.Status == metav1.ConditionFalse {
		c.Message = fmt.Sprintf("waiting for the operation that runs: %s", running.Kind)
	}
	return p.Result
}

// desired is the power state that the virtual machine has to have.
func (in *Input) desired() vmv1alpha1.PowerState {
	return in.VM.DesiredPowerState(in.Observation.PowerState)
}

// hasRun is true for a virtual machine whose guest has run: it is powered on, suspended and
// restarted with the configuration that it has. One that was adopted has had its first start.
// False says that no start is known.
func (in *Input) hasRun() bool {
	st := &in.VM.Status
	started := in.Last.Last(driver.KindPowerOn)
	provisioned := st.Initialization != nil && st.Initialization.Provisioned != nil && *st.Initialization.Provisioned
	return in.Observation.PowerState == vmv1alpha1.PoweredOn || in.Observation.PowerState == vmv1alpha1.Suspended ||
		st.FirstStartTime != nil || st.LastRestartTime != nil || provisioned || in.VM.Spec.InstanceUUID != "" ||
		started != nil && started.Err == nil
}

// poweringOff is true when the VM runs or is suspended and shall be off.
func (in *Input) poweringOff() bool {
	return in.Observation.PowerState != vmv1alpha1.PoweredOff && in.desired() == vmv1alpha1.PoweredOff
}
