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

// Input is the input of a plan.
type Input struct {
	// VM is the object. It must not be changed.
	VM *vmv1alpha1.VirtualMachine
	// Want is the desired state. Want.Effective is nil if the effective spec cannot be resolved.
	Want *driver.Desired
	// Revisions are the ControllerRevisions that VM has pinned, as far as they could be read.
	Revisions []*itv1alpha1.ControllerRevision
	// Groups are the groups to store in the record.
	Groups vmrecord.Groups
	// Machine is the virtual machine as read from the inventory.
	Machine driver.Machine
	// Owned is true if Machine belongs to the object.
	Owned bool
	// Observation of Machine.
	Observation provider.Observation
	// Unreachable is true if Observation.Trouble means that vCenter does not respond.
	Unreachable bool
	// Last are the outcomes of the operations since the last reconcile that had nothing to do.
	Last Outcomes
	// Recorded is when the record was last written; zero if it is not known or longer ago than RecordPause.
	Recorded time.Time
	// RecordPause is the minimum age of the record before it is rewritten only for labels and annotations.
	RecordPause time.Duration
	// Now is the time of the reconcile.
	Now time.Time
	// Progress is called with the progress of a disk promotion in percent.
	Progress func(percent int32)
}

// Plan is the result of planning.
type Plan struct {
	// Result for the caller.
	provider.Result
	// Operation is the operation to start; nil for none.
	Operation *driver.Operation
	// Unresolved are the conditions whose check must succeed before the whole configuration can be compared.
	Unresolved []string
	// Records is true if Operation writes the record.
	Records bool
	// Held is true if an operation must wait before it is retried.
	Held bool
	// metadata has the metadata to store in the virtual machine: missing data of newer schemas, and the object record.
	// It is written together with configuration changes, or separately.
	metadata []driver.Difference
	// metadataAfter is the earliest time at which metadata may be written separately.
	metadataAfter time.Time
	// configBlocksPowerOn is true if a reconfiguration failed and prevents power on until it is retried.
	configBlocksPowerOn bool
	// refused has the refused parts of the configuration.
	refused driver.Refusals
}

// step is one step of planning. It reads the input, changes the plan, and may set an operation.
type step struct {
	name string
	// condition reports the outcome of the step.
	condition string
	run       func(in *Input, p *Plan) error
	// continueIfRun is true if the plan of a virtual machine that has run continues after a NoRequeueError.
	continueIfRun bool
}

// steps are in the order of the specification, except for the revert. A revert replaces the configuration and the power
// state, so it must run before the steps that change them. Snapshots are created by other objects (Engine.Snapshot).
var steps = []step{
	{name: "schema upgrade", condition: vmv1alpha1.ConditionBackupUpToDate, run: reconcileSchema},
	{name: "status", condition: vmv1alpha1.ConditionCreated, run: reconcileStatus},
	{name: "backup", condition: vmv1alpha1.ConditionBackupUpToDate, run: reconcileBackup},
	{name: "revert", condition: vmv1alpha1.ConditionSnapshotSynced, run: reconcileRevert},
	{name: "config", condition: vmv1alpha1.ConditionConfigurationSynced, run: reconcileConfig, continueIfRun: true},
	{name: "power state", condition: vmv1alpha1.ConditionPowerStateSynced, run: reconcilePower},
	{name: "disk promotion", condition: vmv1alpha1.ConditionDiskPromotionSynced, run: reconcilePromotion},
}

// Make returns the plan. The error is a RequeueError with the delay, or a NoRequeueError if a requeue does not help.
func Make(in Input) (Plan, error) {
	var p Plan
	var failures []error
	for _, s := range steps {
		err := s.run(&in, &p)
		if err != nil {
			failures = append(failures, err)
			if provider.IsNoRequeue(err) && (!s.continueIfRun || !in.hasRun()) {
				p.waitForStep(s, vmv1alpha1.ReasonWaitingForPrerequisites)
				break
			}
		}
		if p.Operation != nil || p.Reverted != nil {
			p.waitForStep(s, vmv1alpha1.PowerTransitionReason(in.desiredPowerState()))
			break
		}
	}
	if p.Operation != nil {
		p.Settled = p.Settled && p.Operation.Kind != driver.KindReconfigure
		p.Records = len(p.metadata) > 0 && p.Operation.Kind == driver.KindReconfigure
	}
	return p, errors.Join(failures...)
}

// Report returns the status without planning. running is the current operation, or nil.
func Report(in Input, running *driver.Operation) provider.Result {
	var p Plan
	_ = reconcileStatus(&in, &p)
	if running == nil {
		return p.Result
	}
	if reason, ok := transitions[running.Kind]; ok {
		p.False(vmv1alpha1.ConditionPowerStateSynced, reason, "")
	} else if c := conditions.Find(p.Conditions, vmv1alpha1.ConditionPowerStateSynced); c != nil && c.Status == metav1.ConditionFalse {
		c.Message = fmt.Sprintf("waiting for the running operation: %s", running.Kind)
	}
	return p.Result
}

// desiredPowerState returns the desired power state.
func (in *Input) desiredPowerState() vmv1alpha1.PowerState {
	return in.VM.DesiredPowerState(in.Observation.PowerState)
}

// hasRun reports whether the guest is known to have run. Then the virtual machine can be powered on, suspended and
// restarted with its current configuration. An adopted virtual machine counts as one that has run.
func (in *Input) hasRun() bool {
	st := &in.VM.Status
	started := in.Last.Last(driver.KindPowerOn)
	provisioned := st.Initialization != nil && st.Initialization.Provisioned != nil && *st.Initialization.Provisioned
	return in.Observation.PowerState == vmv1alpha1.PoweredOn || in.Observation.PowerState == vmv1alpha1.Suspended ||
		st.FirstStartTime != nil || st.LastRestartTime != nil || provisioned || in.VM.Spec.InstanceUUID != "" ||
		started != nil && started.Err == nil
}

// mustPowerOff reports whether the virtual machine must be powered off.
func (in *Input) mustPowerOff() bool {
	return in.Observation.PowerState != vmv1alpha1.PoweredOff && in.desiredPowerState() == vmv1alpha1.PoweredOff
}
