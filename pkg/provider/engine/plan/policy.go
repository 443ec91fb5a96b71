// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// whyLeftOff returns the reason and the message if spec.powerPolicy prevents a power on. Otherwise reason is empty.
func (in *Input) whyLeftOff() (reason, message string) {
	current := in.Observation.PowerState
	_, requested := in.VM.Annotations[vmv1alpha1.AnnotationStartRequested]
	if _, due, err := restartDue(in); err == nil && due {
		requested = true
	}
	policy := ptr.Deref(in.VM.Spec.PowerPolicy, vmv1alpha1.PowerPolicyAlways)
	switch {
	case in.desiredPowerState() != vmv1alpha1.PoweredOn, current == vmv1alpha1.PoweredOn, requested, !in.wasPoweredOn():
		return "", ""
	case policy == vmv1alpha1.PowerPolicyManual:
		return vmv1alpha1.ReasonStartRequired, fmt.Sprintf(
			"the virtual machine is now %s and spec.powerPolicy is Manual: start it, for example with virtctl start", current)
	case policy == vmv1alpha1.PowerPolicyOnFailure && current == vmv1alpha1.PoweredOff && in.Observation.CleanPowerOff:
		return vmv1alpha1.ReasonGuestShutdown,
			"the guest was shut down cleanly and spec.powerPolicy is OnFailure: start it, for example with virtctl start"
	}
	return "", ""
}

// wasPoweredOn reports whether the virtual machine was powered on after the last request to power it on, and is no
// longer powered on.
func (in *Input) wasPoweredOn() bool {
	if IsReverting(in.VM) {
		return false
	}
	for _, last := range in.Last {
		if _, power := powerStates[last.Kind]; power && last.Err == nil {
			return last.Kind == driver.KindPowerOn
		}
	}
	c := conditions.Find(in.VM.Status.Conditions, vmv1alpha1.ConditionPowerStateSynced)
	switch {
	case c == nil:
		return false
	case c.Status != metav1.ConditionFalse:
		return in.VM.Status.PowerState == vmv1alpha1.PoweredOn
	}
	return slices.Contains([]string{vmv1alpha1.ReasonStartRequired, vmv1alpha1.ReasonGuestShutdown, vmv1alpha1.ReasonBackOff}, c.Reason)
}

// startedSince reports whether a start was requested after an operation ended.
func (in *Input) startedSince(last *Outcome) bool {
	t, ok := limits.ParseTime(in.VM.Annotations[vmv1alpha1.AnnotationStartRequested])
	return ok && !t.Before(last.Ended.Truncate(time.Second))
}

// powerStates are the power states that operations lead to. Each of these operations undoes the others.
var powerStates = map[driver.Kind]vmv1alpha1.PowerState{
	driver.KindPowerOn:  vmv1alpha1.PoweredOn,
	driver.KindPowerOff: vmv1alpha1.PoweredOff,
	driver.KindSuspend:  vmv1alpha1.Suspended,
	driver.KindRevert:   "", // that of the snapshot
}

// A power operation that was undone is repeated after firstBackOff. The delay doubles each time, up to maxBackOff. A
// success that lasts for backOffMemory resets the delay.
const (
	firstBackOff  = 10 * time.Second
	maxBackOff    = 5 * time.Minute
	backOffMemory = 2 * maxBackOff
)

// canBeUndone reports whether a repetition of a successful operation of this kind means that it was undone by the guest
// or in the hypervisor.
func canBeUndone(kind driver.Kind) bool { return powerStates[kind] != "" }

// RemainingOutcomes returns the outcomes to keep if nothing needs to be done: the last success that led to the desired
// power state, until backOffMemory has passed.
func RemainingOutcomes(in Input) Outcomes {
	for _, last := range in.Last {
		if canBeUndone(last.Kind) && last.Err == nil && powerStates[last.Kind] == in.desiredPowerState() && in.Now.Sub(last.Ended) < backOffMemory {
			return Outcomes{last}
		}
	}
	return nil
}

// backOff returns the hold of a power operation that was undone.
func (o *Outcome) backOff(op driver.Operation, wait time.Duration) *Hold {
	return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonBackOff, Message: fmt.Sprintf(
		"%s succeeded %d times in a row and was undone each time, by the guest or in vSphere; the next attempt is at %s",
		op.Kind, o.Repeats+1, o.Next.UTC().Format(time.RFC3339))}
}
