// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
)

// reconcileConfig applies at once what can be applied in the present power
// state and lists what needs a power cycle.
func reconcileConfig(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	if err := manageable(in); err != nil {
		in.set(st, vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		return nil, err
	}
	if in.Effective == nil {
		in.setFalse(st, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites, "the effective spec cannot be resolved")
		return nil, nil
	}
	if refused := configspec.Refused(in.Want, in.Observed); len(refused) > 0 {
		err := errors.New(strings.Join(refused, "; "))
		in.setFalse(st, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInvalid, err.Error())
		return nil, &provider.NoRequeueError{Err: err}
	}
	now, later := in.split()
	st.RestartRequired = requirements(later)
	if len(now) > 0 && !in.poweringOff() && in.ConfigHeld != nil {
		in.setFalse(st, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonError, in.ConfigHeld.Reason)
		return nil, in.ConfigHeld
	}
	if len(now) > 0 && !in.poweringOff() {
		in.setFalse(st, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInProgress, "changing "+paths(now))
		op := reconfigure(now)
		if op.Spec != nil && op.Upgrade == "" && len(op.Spec.DeviceChange) > 0 {
			op.Version = in.Observed.Config.ChangeVersion
		}
		return op, nil
	}
	if in.NetworkUnknown {
		in.setFalse(st, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites,
			"waiting for "+vmv1alpha1.ConditionNetworkReady+": the adapters are not changed until then")
		return nil, nil
	}
	if len(later) > 0 {
		in.set(st, vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionTrue, vmv1alpha1.ReasonRestartRequired,
			join("the next power cycle changes "+paths(later), notApplied(in)))
		return nil, nil
	}
	in.set(st, vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, notApplied(in))
	return nil, nil
}

// notApplied names what was asked for and is not applied, so that nothing is
// left out silently.
func notApplied(in *Input) string {
	if list := configspec.NotApplied(in.Want, in.Observed); len(list) > 0 {
		return "not applied: " + strings.Join(list, ", ")
	}
	return ""
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// manageable says whether vSphere lets anybody change the VM at all. Its
// connection state and its resource pool are part of the stream, so that nobody
// needs to retry.
func manageable(in *Input) error {
	switch {
	case !in.Facts.Connected:
		return &provider.NoRequeueError{Err: fmt.Errorf("the vSphere VM %s is not connected: %s",
			in.Facts.UniqueID, in.Observed.Runtime.ConnectionState)}
	case !in.Facts.Readable:
		return &provider.NoRequeueError{Err: fmt.Errorf("the configuration of the vSphere VM %s cannot be read", in.Facts.UniqueID)}
	case !in.Facts.Pooled:
		return &provider.NoRequeueError{Err: fmt.Errorf("the vSphere VM %s has no resource pool: it is a template, or its pool cannot be read", in.Facts.UniqueID)}
	}
	return nil
}

// split sorts the differences by when they are applied.
func (in *Input) split() (now, later []configspec.Difference) {
	want := in.Want
	off := in.Facts.PowerState == vmv1alpha1.PoweredOff
	if t, due, _ := restartDue(in); due && off && in.desired() == vmv1alpha1.PoweredOn {
		// Powering on is the restart that was asked for.
		want.LastRestart = t
	}
	for _, d := range configspec.Differences(want, in.Observed) {
		switch {
		case off, in.live(d):
			now = append(now, d)
		case !d.FirstBoot:
			later = append(later, d)
		}
	}
	return now, later
}

// live is true for a difference that a running VM takes. What only names the
// VM is never staged: it changes nothing for the guest.
func (in *Input) live(d configspec.Difference) bool {
	if !d.Live || in.Facts.PowerState != vmv1alpha1.PoweredOn {
		return false
	}
	return in.VM.Spec.UpdateStrategy != vmv1alpha1.UpdateStrategyStage || strings.HasPrefix(d.Path, "metadata.")
}

func reconfigure(diffs []configspec.Difference) *Operation {
	op := &Operation{Kind: operation.Reconfigure, Upgrade: configspec.Upgrade(diffs)}
	if !configspec.OnlyUpgrade(diffs) {
		spec := configspec.Spec(diffs)
		op.Spec = &spec
	}
	return op
}

func requirements(diffs []configspec.Difference) []vmv1alpha1.RestartRequirement {
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
func paths(diffs []configspec.Difference) string {
	var out []string
	seen := map[string]bool{}
	for _, d := range diffs {
		if !seen[d.Path] {
			seen[d.Path] = true
			out = append(out, d.Path)
		}
	}
	return strings.Join(out, ", ")
}
