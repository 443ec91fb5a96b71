// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// Cause is a reason why a drain is not done. Its value is used in the Ready condition.
type Cause string

// Causes, in the order of messages.
const (
	// DisruptionBudgets means that a PodDisruptionBudget does not allow an eviction.
	DisruptionBudgets Cause = "PodDisruptionBudgets"
	// NotTerminating means that deleted Pods still exist.
	NotTerminating Cause = "Pods not terminating"
	// EvictionErrors means that evictions failed, or that the behavior of Pods could not be determined.
	EvictionErrors Cause = "Pod eviction errors"
	// NotCompleted means that Pods have not completed yet.
	NotCompleted Cause = "Pods not completed yet"
)

// Limits of a message. The number of names and of failures are those of Cluster API.
const (
	maxNames    = 3
	maxFailures = 5
	// maxFailure is the maximum length of a failure in bytes. An admission webhook may return any text.
	maxFailure = 512
)

// causesOf returns the reasons why the drain is not done.
func causesOf(plan Plan) []Cause {
	found := map[Cause]bool{}
	for _, e := range plan {
		switch {
		case e.failure != nil:
			found[e.failure.cause] = true
		case e.Step == Blocked:
			found[EvictionErrors] = true
		case e.Step == Deleting:
			found[NotTerminating] = true
		case e.Step == WaitNow:
			found[NotCompleted] = true
		}
	}
	return slices.DeleteFunc([]Cause{DisruptionBudgets, NotTerminating, EvictionErrors, NotCompleted}, func(c Cause) bool { return !found[c] })
}

// message returns the condition message for the outstanding Pods of plan.
func message(plan Plan, unreachable bool, started time.Time) string {
	lines := []string{fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))}
	line := func(step Step, text string) {
		if entries := plan.entriesWithStep(step); len(entries) > 0 {
			lines = append(lines, fmt.Sprintf("* %s: %s", pods(entries), text))
		}
	}
	line(Deleting, "deletionTimestamp set, but still not removed from the Node")
	lines = append(lines, failures(plan)...)
	line(WaitNow, "waiting for completion")
	if unreachable && slices.Contains(causesOf(plan), DisruptionBudgets) {
		lines = append(lines, "* Node is unreachable: a PodDisruptionBudget with unhealthyPodEvictionPolicy AlwaysAllow lets its Pods be evicted, and spec.deletion.nodeDrainTimeoutSeconds of the Machine ends the wait")
	}
	if later := plan.entriesWithStep(EvictLater); len(later) > 0 {
		lines = append(lines, "After above Pods have been removed from the Node, the following Pods will be evicted: "+names(later))
	}
	if later := plan.entriesWithStep(WaitLater); len(later) > 0 {
		lines = append(lines, "After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: "+names(later))
	}
	return truncate(strings.Join(lines, "\n"), conditions.MaxMessage)
}

// failures returns a line for each of the first maxFailures failures, and one for the rest.
func failures(plan Plan) []string {
	by := map[string][]Entry{}
	for _, e := range plan {
		switch {
		case e.failure != nil:
			text := conditions.TruncateLine(e.failure.text, maxFailure)
			by[text] = append(by[text], e)
		case e.Step == Blocked:
			text := conditions.TruncateLine("cannot determine whether to evict: "+e.Err.Error(), maxFailure)
			by[text] = append(by[text], e)
		}
	}
	var lines []string
	rest := 0
	for i, text := range slices.Sorted(maps.Keys(by)) {
		if i < maxFailures {
			lines = append(lines, fmt.Sprintf("* %s: %s", pods(by[text]), text))
		} else {
			rest += len(by[text])
		}
	}
	switch {
	case rest == 1:
		lines = append(lines, "* 1 Pod with other issues")
	case rest > 1:
		lines = append(lines, fmt.Sprintf("* %d Pods with other issues", rest))
	}
	return lines
}

// pods returns names with the prefix "Pod" or "Pods".
func pods(entries []Entry) string {
	if len(entries) == 1 {
		return "Pod " + names(entries)
	}
	return "Pods " + names(entries)
}

// names returns the names of the first maxNames Pods and the number of the others.
func names(entries []Entry) string {
	var all []string
	for _, e := range entries[:min(len(entries), maxNames)] {
		all = append(all, e.Pod.Namespace+"/"+e.Pod.Name)
	}
	if more := len(entries) - maxNames; more > 0 {
		all = append(all, fmt.Sprintf("... (%d more)", more))
	}
	return strings.Join(all, ", ")
}

// truncate limits the length of text. Unlike conditions.TruncateLine it preserves lines. The text contains names from the
// untrusted workload cluster.
func truncate(text string, limit int) string {
	const ellipsis = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
