// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/schema"
)

// passing are the reasons of states that end without an action of a user.
var passing = []string{
	vmv1alpha1.ReasonCreating, vmv1alpha1.ReasonInProgress, vmv1alpha1.ReasonTooManyCreates, vmv1alpha1.ReasonTooManyOperations,
	vmv1alpha1.ReasonPoweringOn, vmv1alpha1.ReasonPoweringOff, vmv1alpha1.ReasonSuspending, vmv1alpha1.ReasonRestarting,
	vmv1alpha1.ReasonWaitingForPrerequisites, vmv1alpha1.ReasonWaitingForIP, vmv1alpha1.ReasonWaitingForTools,
}

// unsettled returns what is missing for a VM with odd values. It is empty if the VM is ready or a condition reports why
// not.
func unsettled(vm *vmv1alpha1.VirtualMachine, odd []oddity) string {
	all := vm.Status.Conditions
	if conditions.IsTrue(all, vmv1alpha1.ConditionPaused) {
		return "" // and nothing is checked
	}
	if vm.Status.ObservedGeneration != vm.Generation {
		return fmt.Sprintf("generation %d was not reconciled, %d was", vm.Generation, vm.Status.ObservedGeneration)
	}
	if conditions.IsTrue(all, vmv1alpha1.ConditionReady) && !conditions.IsTrue(all, vmv1alpha1.ConditionReconciling) {
		return ""
	}
	for _, c := range all {
		if reportsProblem(c) && !slices.Contains(passing, c.Reason) && slices.ContainsFunc(odd, func(o oddity) bool { return names(c.Message, o) }) {
			return ""
		}
	}
	return "no condition explains why:  " + summary(all)
}

// reportsProblem reports whether a condition reports a problem.
func reportsProblem(c metav1.Condition) bool {
	good := metav1.ConditionTrue
	if c.Type == vmv1alpha1.ConditionStalled {
		good = metav1.ConditionFalse
	}
	return c.Status != good && c.Reason != "" && c.Message != ""
}

// names reports whether a message contains a name in the path, or the value or a part of it.
func names(message string, o oddity) bool {
	var value any
	return json.Unmarshal([]byte(o.value), &value) == nil && has(message, value) || schema.Named(message, o.place)
}

// has reports whether a message contains a string of the value.
func has(message string, value any) bool {
	switch value := value.(type) {
	case string:
		return value != "" && strings.Contains(message, value)
	case map[string]any:
		for _, part := range value {
			if has(message, part) {
				return true
			}
		}
	}
	return false
}

func summary(all []metav1.Condition) string {
	var parts []string
	for _, c := range all {
		if c.Status != metav1.ConditionTrue || reportsProblem(c) {
			parts = append(parts, fmt.Sprintf("%s=%s %s: %.200s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(parts, "; ")
}

const (
	// maxRepeats is how often an operation may be requested for one generation.
	maxRepeats = 5
	// slow is the minimum average interval between more frequently repeated calls.
	slow = 30 * time.Second
)

// repeated returns the operation that was requested too often, and the other requested operations.
func repeated(calls []fleetcheck.Call, asked int) string {
	maxRepeats := maxRepeats + asked
	for _, op := range fleetcheck.Operations() {
		var first, last time.Time
		n := 0
		for _, c := range calls {
			if c.Operation != op {
				continue
			}
			if n++; n == maxRepeats {
				first = c.Time
			}
			last = c.Time
		}
		if more := n - maxRepeats; more > 0 && last.Sub(first) < time.Duration(more)*slow {
			return fmt.Sprintf("%s was asked for %d times, the last %d of them within %s", op, n, more+1, last.Sub(first).Round(time.Millisecond))
		}
	}
	return ""
}
