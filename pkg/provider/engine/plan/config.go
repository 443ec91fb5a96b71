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

// reconcileConfig applies at once what can be applied in the present power state and
// lists what needs a power cycle. A refusal concerns its own field: of a virtual machine that
// has run everything else is applied. What is to be kept with the machine is written with it, or
// by itself.
func reconcileConfig(in *Input, p *Plan) error {
	err := in.config(p)
	return errors.Join(err, in.keep(p))
}

// unknown reports a condition of which the trouble of the observation hides the state.
func (in *Input) unknown(p *Plan, condition string) {
	reason := vmv1alpha1.ReasonUnknownState
	if in.Unreachable {
		reason = vmv1alpha1.ReasonUnreachable
	}
	p.Set(condition, metav1.ConditionUnknown, reason, in.Observation.Trouble)
}

func (in *Input) config(p *Plan) error {
	if in.Observation.Trouble != "" {
		in.unknown(p, vmv1alpha1.ConditionConfigurationSynced)
		return in.trouble()
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
	now, later := in.split(compared.Differences)
	p.Compared, p.RestartRequired, p.Unresolved = true, requirements(later), compared.Unresolved
	if len(now) > 0 && !in.poweringOff() {
		return errors.Join(in.configure(p, now), noRequeue(refused))
	}
	waiting, staged := "", ""
	if len(compared.Unresolved) > 0 {
		waiting = "waiting for " + strings.Join(compared.Unresolved, " and ") + ": what it is about is not changed until then"
	}
	if len(later) > 0 {
		staged = "the next power cycle changes " + paths(later)
	}
	switch {
	case refused != nil:
		p.False(vmv1alpha1.ConditionConfigurationSynced, compared.Refused.Reason(), join(refused.Error(), conditions.List(compared.Deviating, ", "), staged, waiting, notApplied(compared)))
		return noRequeue(refused)
	case waiting != "":
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites, waiting)
		return nil
	case len(compared.Deviating) > 0:
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonNotApplied,
			join(conditions.List(compared.Deviating, ", "), staged, notApplied(compared)))
	case staged != "" && in.restartFailed() != nil:
		p.Held = true
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonError, join(staged, "the last restart did not: "+in.restartFailed().Error(), notApplied(compared)))
	case staged != "":
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonRestartRequired, join(staged, notApplied(compared)))
	default:
		p.Set(vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, notApplied(compared))
	}
	p.Settled = len(now) == 0
	return nil
}

// restartFailed is why the last restart failed, nil if it did not. One whose changes are refused
// restarts all the same, and is not repeated.
func (in *Input) restartFailed() error {
	if last := in.Last.Last(driver.KindRestart); last != nil {
		return last.Err
	}
	return nil
}

// noRequeue is the error of what is refused, nil for nothing.
func noRequeue(refused error) error {
	if refused == nil {
		return nil
	}
	return &provider.NoRequeueError{Err: refused}
}

// configure plans the changes, unless the same failed or had no effect a moment ago. A failure
// that passes by itself keeps a virtual machine from being powered on, and any failure keeps one
// that has never run.
func (in *Input) configure(p *Plan, changes []driver.Difference) error {
	op, refused := in.Machine.Configure(slices.Concat(changes, p.kept)), ""
	if err := p.refused.Err(); err != nil {
		refused = "refused: " + err.Error()
	}
	if hold := in.Last.Held(op, in.Now); hold != nil {
		p.Held, p.configHeld = true, hold.Failed && (hold.Passes || !in.hasRun())
		p.False(vmv1alpha1.ConditionConfigurationSynced, hold.Reason, join(hold.Message, refused))
		return &provider.RequeueError{After: hold.Wait, Reason: hold.Message}
	}
	p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInProgress, join("changing "+paths(changes), refused))
	p.Operation = &op
	return nil
}

// compare names the differences. Powering on counts as the restart that was asked for.
func (in *Input) compare() driver.Comparison {
	want := *in.Want
	off := in.Observation.PowerState == vmv1alpha1.PoweredOff
	if t, due, _ := restartDue(in); due && off && in.desired() == vmv1alpha1.PoweredOn {
		want.Restarted = t
	}
	return in.Machine.Compare(&want)
}

// notApplied names what was asked for and is not applied, so that nothing is left
// out silently.
func notApplied(c driver.Comparison) string {
	if len(c.NotApplied) > 0 {
		return "not applied: " + conditions.List(c.NotApplied, ", ")
	}
	return ""
}

// join joins the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// trouble is why nobody can change the VM now. The driver reports when it ends, so
// that nobody needs to retry.
func (in *Input) trouble() error {
	if in.Observation.Trouble == "" {
		return nil
	}
	return &provider.NoRequeueError{Err: errors.New(in.Observation.Trouble)}
}

// split sorts the differences by when they are applied.
func (in *Input) split(all []driver.Difference) (now, later []driver.Difference) {
	for _, d := range all {
		switch {
		case in.Observation.PowerState == vmv1alpha1.PoweredOff, in.live(d):
			now = append(now, d)
		case !d.FirstBoot:
			later = append(later, d)
		}
	}
	return now, later
}

// live is true for a difference that a running VM takes. What only names the VM is
// never staged: it changes nothing for the guest.
func (in *Input) live(d driver.Difference) bool {
	if !d.Live || in.Observation.PowerState != vmv1alpha1.PoweredOn {
		return false
	}
	return d.Names || in.VM.Spec.UpdateStrategy != vmv1alpha1.UpdateStrategyStage
}

func requirements(diffs []driver.Difference) []vmv1alpha1.RestartRequirement {
	var out []vmv1alpha1.RestartRequirement
	seen := map[string]bool{}
	for _, d := range diffs {
		if seen[d.Path] {
			continue // The list has one entry for each path.
		}
		seen[d.Path] = true
		out = append(out, vmv1alpha1.RestartRequirement{Path: d.Path, Running: d.Running, Desired: d.Desired})
	}
	return out
}

// paths joins the paths, each once.
func paths(diffs []driver.Difference) string {
	var out []string
	for _, r := range requirements(diffs) {
		out = append(out, r.Path)
	}
	return conditions.List(out, ", ")
}
