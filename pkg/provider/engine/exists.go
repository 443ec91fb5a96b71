// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// handleExisting handles a virtual machine that exists. A virtual machine without an owner is observed only if the
// object has its instance UUID. The next reconfiguration sets the owner.
func (p *reconciliation) handleExisting(ctx context.Context, s driver.Observed) error {
	if s.Ownership == driver.Foreign {
		return p.refuseForeign()
	}
	p.reportChecks()
	in := p.input(s)
	switch {
	case p.state.running != nil:
		p.merge(plan.Report(in, &p.state.running.op))
		if p.state.running.op.Kind == driver.KindPromote {
			p.False(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionRunning, p.engine.progress(p.state.running))
		}
		if plan.IsOutdated(p.state.running.op, p.req.VM) {
			p.engine.interrupt(p.key, p.state.running)
		}
		return provider.ErrReconcileInProgress
	case in.Observation.Unfinished && p.outageErr != nil:
		return p.reportUnreachable()
	case in.Observation.Unfinished:
		return p.complete(ctx, s.Machine)
	case in.Observation.Paused:
		p.merge(plan.Report(in, nil))
		return provider.ErrPaused
	}
	return p.update(ctx, in)
}

// input returns the input of a plan.
func (p *reconciliation) input(s driver.Observed) plan.Input {
	in := plan.Input{
		VM: p.req.VM, Want: p.desired, Machine: s.Machine, Observation: s.Machine.Observe(p.desired),
		Owned: s.Ownership == driver.Own, Revisions: p.req.Revisions, Groups: p.req.Groups,
		Last: p.state.outcomes, Recorded: p.state.recordedAt, RecordPause: p.engine.opts.RecordPause, Now: p.req.Now, Progress: p.engine.progressRecorder(p.key),
	}
	if p.outageErr != nil {
		in.Observation.Trouble, in.Unreachable = p.outageErr.Error(), true
	}
	return in
}

// ReportVirtualMachine implements provider.Provider.
func (e *Engine) ReportVirtualMachine(_ context.Context, req *provider.Request) (provider.Result, error) {
	p := e.newReconciliation(req)
	defer e.returnUnusedOffers(p.key)
	s := e.driver.Observe(p.desired.Identity)
	if s.State == driver.Unknown {
		return p.Result, p.reportUnknown(s)
	}
	if s.State == driver.Exists && s.Ownership == driver.Own {
		p.merge(plan.Report(p.input(s), nil))
	}
	return p.Result, nil
}

// update plans and starts the next operation.
func (p *reconciliation) update(ctx context.Context, in plan.Input) error {
	next, err := plan.Make(in)
	if len(next.Unresolved) > 0 {
		if started, cerr := p.check(ctx, next.Unresolved...); started || cerr != nil {
			p.merge(plan.Report(in, nil))
			return cerr
		}
	} else if next.Compared {
		p.clearFailedChecks(vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionStorageReady)
	}
	p.merge(next.Result)
	if next.Operation == nil {
		p.AttachedKnown = in.Observation.Readable && p.engine.driver.Synced()
		remaining := p.state.outcomes
		if !next.Held {
			remaining = plan.RemainingOutcomes(in)
		}
		p.pruneState(remaining)
		if len(next.Unresolved) > 0 {
			err = errors.Join(err, p.requeueFailedChecks())
		}
		return err
	}
	p.writesRecord = next.Records
	serr := p.start(ctx, *next.Operation)
	if isRefused(serr) {
		p.reportWaitingForSlot(next.Operation.Kind)
	}
	if serr != nil {
		return serr
	}
	return err
}

// pruneState drops state that a reconcile without an operation no longer needs, and keeps the remaining outcomes.
func (p *reconciliation) pruneState(remaining plan.Outcomes) {
	last := len(remaining) != len(p.state.outcomes)
	recorded := !p.state.recordedAt.IsZero() && p.req.Now.Sub(p.state.recordedAt) >= p.engine.opts.RecordPause
	if !last && !recorded {
		return
	}
	p.engine.updateState(p.key, p.uid(), func(r *objectState) {
		if last {
			r.outcomes = remaining
		}
		if recorded {
			r.recordedAt = time.Time{}
		}
	})
}

// reportWaitingForSlot reports that an operation waits for a free slot.
func (p *reconciliation) reportWaitingForSlot(kind driver.Kind) {
	condition := vmv1alpha1.ConditionPowerStateSynced
	switch kind {
	case driver.KindReconfigure:
		condition = vmv1alpha1.ConditionConfigurationSynced
	case driver.KindPromote:
		p.False(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionPending, "waiting for a free disk-promotion slot")
		return
	case driver.KindRevert:
		condition = vmv1alpha1.ConditionSnapshotSynced
	default:
	}
	p.False(condition, vmv1alpha1.ReasonTooManyOperations, "waiting for a free slot to "+string(kind))
}

// complete completes an interrupted create. The caller resolves the data for a create only while the Created condition
// is False, so the data is available from the second reconcile on.
func (p *reconciliation) complete(ctx context.Context, m driver.Machine) error {
	p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "completing an interrupted create")
	if !p.req.PrerequisitesReady && !p.req.CompletionReady || p.desired.Effective == nil {
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites,
			p.missingPrerequisites()+", to complete an interrupted create")
		return nil
	}
	w := p.desired.Clone()
	w.Record = plan.Record(p.req)
	return p.startCreate(ctx, m.Complete(w), "complete", w.Effective)
}

// merge adds a result to the result of the reconcile.
func (p *reconciliation) merge(r provider.Result) {
	p.Observation, p.Compared, p.RestartRequired, p.Settled, p.Reverted = r.Observation, r.Compared, r.RestartRequired, r.Settled, r.Reverted
	p.Withdrawn = append(p.Withdrawn, r.Withdrawn...)
	for _, c := range r.Conditions {
		p.Set(c.Type, c.Status, c.Reason, c.Message)
	}
}
