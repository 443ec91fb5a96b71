// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// reconcileConfig applies changes that are possible in the current power state, and lists those that need a power
// cycle. If one field of a virtual machine that has run is refused, the other fields are still applied. Metadata is
// written together with the changes, or separately.
func reconcileConfig(in *Input, p *Plan) error {
	err := in.config(p)
	return errors.Join(err, in.planRecordWrite(p))
}

// setUnknown sets a condition to Unknown because the virtual machine's trouble hides the state.
func (in *Input) setUnknown(p *Plan, condition string) {
	reason := vmv1alpha1.ReasonUnknownState
	if in.Unreachable {
		reason = vmv1alpha1.ReasonUnreachable
	}
	p.Set(condition, metav1.ConditionUnknown, reason, in.Observation.Trouble)
}

func (in *Input) config(p *Plan) error {
	if in.Observation.Trouble != "" {
		in.setUnknown(p, vmv1alpha1.ConditionConfigurationSynced)
		return in.troubleError()
	}
	if in.Want.Effective == nil {
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "the effective spec cannot be resolved")
		return nil
	}
	compared := in.compare()
	p.refused = compared.Refused
	refused := compared.Refused.Err()
	if refused != nil && !in.hasRun() {
		p.False(vmv1alpha1.ConditionConfigurationSynced, compared.Refused.Reason(), refused.Error())
		return &provider.NoRequeueError{Err: refused}
	}
	now, later := in.splitByTime(compared.Differences)
	p.Compared, p.RestartRequired, p.Unresolved = true, requirements(later), compared.Unresolved
	if len(now) > 0 && !in.mustPowerOff() {
		return errors.Join(in.configure(p, now), noRequeue(refused))
	}
	waiting, staged := "", ""
	if len(compared.Unresolved) > 0 {
		waiting = "waiting for " + strings.Join(compared.Unresolved, " and ") + ": related fields are not changed until then"
	}
	if len(later) > 0 {
		staged = "a power cycle is needed to change " + paths(later)
	}
	switch {
	case refused != nil:
		p.False(vmv1alpha1.ConditionConfigurationSynced, compared.Refused.Reason(), join(refused.Error(), conditions.JoinLimited(compared.Deviations, ", "), staged, waiting, notApplied(compared)))
		return noRequeue(refused)
	case waiting != "":
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites, waiting)
		return nil
	case len(compared.Deviations) > 0:
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonNotApplied,
			join(conditions.JoinLimited(compared.Deviations, ", "), staged, notApplied(compared)))
	case staged != "" && in.restartFailed() != nil:
		p.Held = true
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonError, join(staged, "the last restart failed: "+in.restartFailed().Error(), notApplied(compared)))
	case staged != "":
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonRestartRequired, join(staged, notApplied(compared)))
	default:
		p.Set(vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, notApplied(compared))
	}
	p.ConfigurationSynced = len(now) == 0
	return nil
}

// restartFailed returns the error of the last restart, or nil. Refused changes do not fail a restart, so the restart is
// not repeated for them.
func (in *Input) restartFailed() error {
	if last := in.Last.Last(driver.KindRestart); last != nil {
		return last.Err
	}
	return nil
}

// noRequeue wraps refused in a NoRequeueError unless it is nil.
func noRequeue(refused error) error {
	if refused == nil {
		return nil
	}
	return &provider.NoRequeueError{Err: refused}
}

// configure plans the changes, unless the same changes recently failed or had no effect. A temporary failure prevents
// power on. Any failure prevents the first power on.
func (in *Input) configure(p *Plan, changes []driver.Difference) error {
	op, refused := in.Machine.Configure(slices.Concat(changes, p.metadata)), ""
	if err := p.refused.Err(); err != nil {
		refused = "refused: " + err.Error()
	}
	if hold := in.Last.HoldFor(op, in.Now); hold != nil {
		p.Held, p.configBlocksPowerOn = true, hold.Failed && (hold.IsTemporary || !in.hasRun())
		p.False(vmv1alpha1.ConditionConfigurationSynced, hold.Reason, join(hold.Message, refused))
		return &provider.RequeueError{After: hold.Wait, Reason: hold.Message}
	}
	p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInProgress, join("changing "+paths(changes), refused))
	p.Operation = &op
	return nil
}

// compare returns the differences. A power on counts as the requested restart.
func (in *Input) compare() driver.Comparison {
	want := *in.Want
	off := in.Observation.PowerState == vmv1alpha1.PoweredOff
	if t, due, _ := restartDue(in); due && off && in.desiredPowerState() == vmv1alpha1.PoweredOn {
		want.Restarted = t
	}
	return in.Machine.Compare(&want)
}

// notApplied lists requested settings that are not applied.
func notApplied(c driver.Comparison) string {
	if len(c.NotApplied) > 0 {
		return "not applied: " + conditions.JoinLimited(c.NotApplied, ", ")
	}
	return ""
}

// join joins the non-empty parts.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// troubleError returns an error if the VM cannot be changed now. The driver sends an event when this ends, so no retry
// is needed.
func (in *Input) troubleError() error {
	if in.Observation.Trouble == "" {
		return nil
	}
	return &provider.NoRequeueError{Err: errors.New(in.Observation.Trouble)}
}

// splitByTime divides the differences into those that can be applied now and those that need a power cycle.
func (in *Input) splitByTime(all []driver.Difference) (now, later []driver.Difference) {
	for _, d := range all {
		switch {
		case in.Observation.PowerState == vmv1alpha1.PoweredOff, in.isLive(d):
			now = append(now, d)
		case !d.FirstBoot:
			later = append(later, d)
		}
	}
	return now, later
}

// isLive reports whether a difference can be applied to a running VM. Metadata does not affect the guest, so it is not
// deferred by update strategy Stage.
func (in *Input) isLive(d driver.Difference) bool {
	if !d.Live || in.Observation.PowerState != vmv1alpha1.PoweredOn {
		return false
	}
	return d.IsMetadata || in.VM.Spec.UpdateStrategy != vmv1alpha1.UpdateStrategyStage
}

func requirements(diffs []driver.Difference) []vmv1alpha1.RestartRequirement {
	var out []vmv1alpha1.RestartRequirement
	seen := map[string]bool{}
	for _, d := range diffs {
		if seen[d.Path] {
			continue // status.restartRequired has one entry per path
		}
		seen[d.Path] = true
		out = append(out, vmv1alpha1.RestartRequirement{Path: d.Path, Running: d.Running, Desired: d.Desired})
	}
	return out
}

// paths joins the distinct paths.
func paths(diffs []driver.Difference) string {
	var out []string
	for _, r := range requirements(diffs) {
		out = append(out, r.Path)
	}
	return conditions.JoinLimited(out, ", ")
}
