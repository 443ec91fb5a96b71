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
// lists what needs a power cycle. What is to be kept with the machine is written with it, or
// by itself.
func reconcileConfig(in *Input, p *Plan) error {
	err := in.config(p)
	return errors.Join(err, in.keep(p))
}

func (in *Input) config(p *Plan) error {
	if in.Observation.Trouble != "" {
		p.Set(vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, in.Observation.Trouble)
		return in.trouble()
	}
	if in.Want.Effective == nil {
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "the effective spec cannot be resolved")
		return nil
	}
	compared := in.compare()
	if err := compared.Refused.Err(); err != nil {
		p.False(vmv1alpha1.ConditionConfigurationSynced, compared.Refused.Reason(), err.Error())
		if in.Observation.PowerState != in.desired() && !in.poweringOff() {
			p.False(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionConfigurationSynced)
		}
		return &provider.NoRequeueError{Err: err}
	}
	now, later := in.split(compared.Differences)
	p.Compared, p.RestartRequired, p.Unresolved = true, requirements(later), compared.Unresolved
	if len(now) > 0 && !in.poweringOff() {
		return in.configure(p, now)
	}
	switch {
	case len(compared.Unresolved) > 0:
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites,
			"waiting for "+strings.Join(compared.Unresolved, " and ")+": what it is about is not changed until then")
		return nil
	case len(compared.Deviating) > 0:
		p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonNotApplied,
			join(join(conditions.List(compared.Deviating, ", "), restartChanges(later)), notApplied(compared)))
	case len(later) > 0:
		// A volume that was removed from the spec is attached until the power cycle.
		status := metav1.ConditionTrue
		if slices.ContainsFunc(later, removesVolume) {
			status = metav1.ConditionFalse
		}
		p.Set(vmv1alpha1.ConditionConfigurationSynced, status, vmv1alpha1.ReasonRestartRequired,
			join(restartChanges(later), notApplied(compared)))
	default:
		p.Set(vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, notApplied(compared))
	}
	p.Settled = len(now) == 0
	return nil
}

// configure plans the changes, unless the same failed or had no effect a moment ago.
func (in *Input) configure(p *Plan, changes []driver.Difference) error {
	op := in.Machine.Configure(slices.Concat(changes, p.kept))
	if hold := in.Last.Held(op, in.Now); hold != nil {
		p.Held, p.configHeld = true, hold.Failed
		p.False(vmv1alpha1.ConditionConfigurationSynced, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: hold.Message}
	}
	p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInProgress, "changing "+paths(changes))
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

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// restartChanges names what the next power cycle changes.
func restartChanges(later []driver.Difference) string {
	if len(later) == 0 {
		return ""
	}
	return "the next power cycle changes " + paths(later)
}

// removesVolume reports whether a difference detaches a volume that is no longer in the spec.
func removesVolume(d driver.Difference) bool {
	return strings.HasPrefix(d.Path, "volumes[") && d.Desired == ""
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
