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

// Cause is a reason for which a drain lasts, in the words of the Ready condition.
type Cause string

// Causes, in the order in which they are said.
const (
	// DisruptionBudgets do not allow an eviction now.
	DisruptionBudgets Cause = "PodDisruptionBudgets"
	// NotTerminating are Pods that are deleted and not gone.
	NotTerminating Cause = "Pods not terminating"
	// EvictionErrors are evictions that failed, and Pods of which it cannot be told
	// whether to evict them.
	EvictionErrors Cause = "Pod eviction errors"
	// NotCompleted are Pods that are waited for.
	NotCompleted Cause = "Pods not completed yet"
)

// Bounds of a message. Names and the number of failures are those of Cluster API.
const (
	maxNames    = 3
	maxFailures = 5
	// maxFailure is in bytes: an admission webhook may answer an eviction with anything.
	maxFailure = 512
)

// causesOf tells why the drain is not done.
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

// message tells what of plan is outstanding.
func message(plan Plan, unreachable bool, started time.Time) string {
	lines := []string{fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))}
	line := func(step Step, text string) {
		if entries := plan.with(step); len(entries) > 0 {
			lines = append(lines, fmt.Sprintf("* %s: %s", pods(entries), text))
		}
	}
	line(Deleting, "deletionTimestamp set, but still not removed from the Node")
	lines = append(lines, failures(plan)...)
	line(WaitNow, "waiting for completion")
	if unreachable && slices.Contains(causesOf(plan), DisruptionBudgets) {
		lines = append(lines, "* Node is unreachable: a PodDisruptionBudget with unhealthyPodEvictionPolicy AlwaysAllow lets its Pods be evicted, and spec.deletion.nodeDrainTimeoutSeconds of the Machine ends the wait")
	}
	if later := plan.with(EvictLater); len(later) > 0 {
		lines = append(lines, "After above Pods have been removed from the Node, the following Pods will be evicted: "+names(later))
	}
	if later := plan.with(WaitLater); len(later) > 0 {
		lines = append(lines, "After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: "+names(later))
	}
	return cut(strings.Join(lines, "\n"), conditions.MaxMessage)
}

// failures has a line for each of the first maxFailures reasons, and one for the rest.
func failures(plan Plan) []string {
	by := map[string][]Entry{}
	for _, e := range plan {
		switch {
		case e.failure != nil:
			text := conditions.Line(e.failure.text, maxFailure)
			by[text] = append(by[text], e)
		case e.Step == Blocked:
			text := conditions.Line("cannot be told whether to evict, "+e.Err.Error(), maxFailure)
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

// pods is names with the word that goes before them.
func pods(entries []Entry) string {
	if len(entries) == 1 {
		return "Pod " + names(entries)
	}
	return "Pods " + names(entries)
}

// names are those of the first maxNames Pods, with the number of the others.
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

// cut keeps the lines of text, unlike conditions.Line. Names are what the server of the
// workload cluster says.
func cut(text string, bound int) string {
	const ellipsis = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound-len(ellipsis)], "") + ellipsis
}
